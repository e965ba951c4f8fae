//! The sample MCP server: a shop with customers and orders in pages of at most 50, some resources and a prompt.
//!
//! It is an ordinary server over stdio without knowledge of Limbeck, so the demo shows what happens with any other.

use std::sync::Arc;

use limbeck_domain::text::clean_line;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use serde_json::{Value, json};

use super::records::{CUSTOMERS, ORDER_STATUSES, ORDERS, customer, order};
use super::resources;
use crate::exit::{CommandError, ExitStatus};

/// Largest and default page size.
const PAGE_SIZES: (u64, u64) = (50, 20);

/// Serves on standard input and output until the client disconnects.
pub(crate) async fn serve() -> Result<ExitStatus, CommandError> {
    match rmcp::serve_server(ShopServer, rmcp::transport::stdio_pipes()).await {
        Ok(running) => {
            running.waiting().await.map_err(CommandError::fault)?;
            Ok(ExitStatus::Completed)
        }
        // A client that disconnects before the handshake is not a fault of the server.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(ExitStatus::Completed),
        Err(error) => Err(CommandError::fault(error)),
    }
}

#[derive(Clone, Copy, Debug)]
struct ShopServer;

impl ServerHandler for ShopServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(capabilities())
            .with_server_info(Implementation::new("shop", env!("CARGO_PKG_VERSION")))
            .with_instructions("Customers and orders of a shop for coffee gear.")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::resources()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&request.uri)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(resources::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(resources::prompt(&request)?.into())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = match &*request.name {
            "list_customers" => list_customers(&arguments),
            "list_orders" => list_orders(&arguments),
            "get_customer" => get_customer(&arguments),
            other => {
                let name = clean_line(other, 128);
                return Err(ErrorData::invalid_params(
                    format!("unknown tool `{name}`"),
                    None,
                ));
            }
        };
        let result = match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        Ok(result.into())
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_resources()
        .enable_prompts()
        .build()
}

fn list_customers(arguments: &JsonObject) -> Result<Value, String> {
    page((0..CUSTOMERS).map(customer), arguments)
}

fn list_orders(arguments: &JsonObject) -> Result<Value, String> {
    let status = match arguments.get("status") {
        None | Some(Value::Null) => None,
        Some(Value::String(status)) if ORDER_STATUSES.contains(&status.as_str()) => Some(status),
        Some(_) => {
            return Err(format!(
                "status must be one of {}",
                ORDER_STATUSES.join(", ")
            ));
        }
    };
    let wanted = |order: &Value| status.is_none_or(|status| order["status"] == **status);
    page((0..ORDERS).map(order).filter(wanted), arguments)
}

fn get_customer(arguments: &JsonObject) -> Result<Value, String> {
    let id = arguments.get("id").and_then(Value::as_str);
    let id = id.ok_or("id must be a string, for example cus_0001")?;
    (0..CUSTOMERS)
        .map(customer)
        .find(|customer| customer["id"] == id)
        .ok_or_else(|| format!("there is no customer {}", clean_line(id, 64)))
}

/// One page of `items` as `{items, page, pages, total}`; a page after the last one is empty.
fn page(items: impl Iterator<Item = Value>, arguments: &JsonObject) -> Result<Value, String> {
    let (largest, usual) = PAGE_SIZES;
    let page = number(arguments, "page", 1, u64::MAX)?;
    let size = number(arguments, "page_size", usual, largest)?;
    let items: Vec<Value> = items.collect();
    let total = items.len() as u64;
    let first = (page - 1).saturating_mul(size).min(total);
    let last = first.saturating_add(size).min(total);
    Ok(json!({
        "items": items[first as usize..last as usize],
        "page": page,
        "pages": total.div_ceil(size),
        "total": total,
    }))
}

fn number(arguments: &JsonObject, name: &str, usual: u64, most: u64) -> Result<u64, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(usual),
        Some(value) => value
            .as_u64()
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| format!("{name} must be a whole number from 1 to {most}")),
    }
}

/// Definitions of the tools.
pub(super) fn tools() -> Vec<Tool> {
    let paging = json!({
        "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Page to return, from 1"},
        "page_size": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "description": "Items on a page"}
    });
    let mut orders_input = paging.clone();
    orders_input["status"] = json!({"type": "string", "enum": ORDER_STATUSES, "description": "Only orders with this status"});
    vec![
        tool(
            "list_customers",
            "List customers of the shop, oldest account number first, a page at a time.",
            &json!({"type": "object", "properties": paging, "additionalProperties": false}),
            &page_schema(&customer_schema()),
        ),
        tool(
            "list_orders",
            "List orders with their lines, a page at a time. Amounts are in cents.",
            &json!({"type": "object", "properties": orders_input, "additionalProperties": false}),
            &page_schema(&order_schema()),
        ),
        tool(
            "get_customer",
            "Get one customer by id.",
            &json!({
                "type": "object",
                "properties": {"id": {"type": "string", "description": "For example cus_0001"}},
                "required": ["id"],
                "additionalProperties": false
            }),
            &customer_schema(),
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, input: &Value, output: &Value) -> Tool {
    Tool::new(name, description, object(input))
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(ToolAnnotations::new().read_only(true))
}

fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}

fn page_schema(item: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item},
            "page": {"type": "integer"},
            "pages": {"type": "integer"},
            "total": {"type": "integer"}
        },
        "required": ["items", "page", "pages", "total"]
    })
}

fn customer_schema() -> Value {
    record_schema(&json!({
        "id": {"type": "string"},
        "name": {"type": "string"},
        "email": {"type": "string"},
        "phone": {"type": "string"},
        "street": {"type": "string"},
        "postcode": {"type": "string"},
        "city": {"type": "string"},
        "country": {"type": "string"},
        "since": {"type": "string", "format": "date"},
        "newsletter": {"type": "boolean"},
        "note": {"type": "string"}
    }))
}

fn order_schema() -> Value {
    let line = record_schema(&json!({
        "sku": {"type": "string"},
        "quantity": {"type": "integer"},
        "unit_cents": {"type": "integer"}
    }));
    record_schema(&json!({
        "id": {"type": "string"},
        "customer_id": {"type": "string"},
        "status": {"type": "string", "enum": ORDER_STATUSES},
        "placed_at": {"type": "string", "format": "date-time"},
        "currency": {"type": "string"},
        "total_cents": {"type": "integer"},
        "lines": {"type": "array", "items": line}
    }))
}

/// Schema of an object whose properties are all required.
fn record_schema(properties: &Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys())
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: &Value) -> JsonObject {
        object(value)
    }

    #[test]
    fn pages_hold_every_item_once_and_end() {
        let mut seen = Vec::new();
        let mut page = 1;
        loop {
            let answer = list_orders(&arguments(
                &json!({"page": page, "page_size": 50, "status": "shipped"}),
            ))
            .unwrap();
            let items = answer["items"].as_array().unwrap().clone();
            if items.is_empty() {
                break;
            }
            assert!(items.iter().all(|order| order["status"] == "shipped"));
            seen.extend(items.into_iter().map(|order| order["id"].to_string()));
            page += 1;
        }
        let total = seen.len();
        seen.dedup();
        assert_eq!((seen.len(), total), (300, 300));
    }

    #[test]
    fn wrong_arguments_are_refused_with_what_is_accepted() {
        for (wrong, named) in [
            (json!({"page": 0}), "page must be"),
            (json!({"page_size": 51}), "1 to 50"),
            (json!({"page": "x"}), "page must be"),
            (json!({"status": "lost"}), "placed, paid, shipped"),
        ] {
            let error = list_orders(&arguments(&wrong)).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
        let behind = list_orders(&arguments(&json!({"page": u64::MAX, "page_size": 50}))).unwrap();
        assert_eq!(behind["items"], json!([]));
        assert_eq!(
            get_customer(&arguments(&json!({"id": "cus_0200"}))).unwrap()["id"],
            "cus_0200"
        );
        assert!(get_customer(&arguments(&json!({"id": "cus_0201"}))).is_err());
    }
}
