//! Resources and prompts of the sample server.

use limbeck_domain::text::clean_line;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role,
};

use super::records::{CUSTOMERS, ORDER_STATUSES, customer};

const ABOUT: &str = "shop://about";
const STATUSES: &str = "shop://order-statuses";
const CUSTOMER: &str = "shop://customers/";
const LETTER: &str = "write_letter";

/// Resources in the list.
pub(super) fn resources() -> Vec<Resource> {
    vec![
        Resource::new(ABOUT, "about")
            .with_description("What the shop sells and how it ships")
            .with_mime_type("text/markdown"),
        Resource::new(STATUSES, "order-statuses")
            .with_description("The statuses an order may have")
            .with_mime_type("application/json"),
    ]
}

/// Resource templates in the list.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{CUSTOMER}{{id}}"), "customer")
            .with_description("One customer, for example shop://customers/cus_0001")
            .with_mime_type("application/json"),
    ]
}

/// Contents of the resource `uri`.
pub(super) fn read(uri: &str) -> Result<ResourceContents, ErrorData> {
    let json = |text: String| ResourceContents::text(text, uri).with_mime_type("application/json");
    match uri {
        ABOUT => Ok(ResourceContents::text(
            "# The shop\n\nCoffee gear. Orders leave within two days.\n",
            uri,
        )
        .with_mime_type("text/markdown")),
        STATUSES => Ok(json(serde_json::json!(ORDER_STATUSES).to_string())),
        _ => uri
            .strip_prefix(CUSTOMER)
            .and_then(|id| (0..CUSTOMERS).map(customer).find(|one| one["id"] == id))
            .map(|found| json(found.to_string()))
            .ok_or_else(|| {
                let uri = clean_line(uri, 128);
                ErrorData::invalid_params(format!("unknown resource `{uri}`"), None)
            }),
    }
}

/// Prompts in the list.
pub(super) fn prompts() -> Vec<Prompt> {
    let arguments = vec![
        PromptArgument::new("customer").with_required(true),
        PromptArgument::new("subject").with_required(true),
    ];
    vec![Prompt::new(
        LETTER,
        Some("A letter to a customer"),
        Some(arguments),
    )]
}

/// Messages of a prompt with its arguments.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    if request.name != LETTER {
        let name = clean_line(&request.name, 128);
        let message = format!("unknown prompt `{name}`; the only prompt is `{LETTER}`");
        return Err(ErrorData::invalid_params(message, None));
    }
    let argument = |name: &str| {
        let value = request.arguments.as_ref()?.get(name)?;
        value.as_str()
    };
    let (Some(customer), Some(subject)) = (argument("customer"), argument("subject")) else {
        let message = "`customer` and `subject` are required and must be strings";
        return Err(ErrorData::invalid_params(message, None));
    };
    let text = format!("Write a short, friendly letter to {customer} about {subject}.");
    Ok(
        GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
            .with_description("A letter to a customer"),
    )
}
