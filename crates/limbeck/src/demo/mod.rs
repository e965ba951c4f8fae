//! `limbeck demo`: the whole path, with nothing but this executable.
//!
//! A real gateway, a real worker, and a sample server as a child process over stdio. The demo stands
//! where a client stands and speaks MCP with the gateway, so that what it counts is what passed.

mod ledger;
mod offers;
mod records;
pub(crate) mod upstream;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use limbeck_gateway::domain::limits::WALL_MS_DEFAULT;
use limbeck_gateway::domain::{Envelope, Expose, ServerName, Tier};
use limbeck_gateway::store::Store;
use limbeck_gateway::surface::Surface;
use limbeck_gateway::upstream::{Pool as UpstreamPool, ServerSpec, StdioSpec, TransportSpec};
use limbeck_gateway::{Gateway, InnerCall, Parts, ServerSource, inner_calls};
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::{Peer, RoleClient};
use serde_json::{Value, json};

use crate::commands::numbered;
use crate::env::own_executable;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::{Source, print_envelope};
use crate::table::{Table, duration, grouped};
use crate::wiring::{Lifetime, shut_down, workers};
use ledger::{Conversation, Ledger};

/// The sample server's name.
const SERVER: &str = "shop";
const PROGRAM: &str = include_str!("program.ts");
/// What a model would look for before it writes the program.
const QUERIES: [&str; 2] = ["list customers", "list orders by status"];
/// Bytes in flight between the demo and the gateway.
const DUPLEX_BYTES: usize = 64 << 10;
/// Time for the sample server to start on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the sample program and prints what came of it.
///
/// In any sandbox of `minimum` or above; what is weaker than `strict` is said.
pub(crate) async fn demo(printer: &Printer, minimum: Tier) -> Result<Exit, Failure> {
    let gateway = gateway(minimum).await?;
    let shown = show(printer, &gateway).await;
    shut_down(&gateway).await;
    shown
}

/// A gateway with the sample server and a store that ends with it.
async fn gateway(minimum: Tier) -> Result<Gateway, Failure> {
    let spec = StdioSpec {
        command: own_executable().map_err(Failure::fault)?,
        args: vec!["demo-upstream".to_owned()],
        env: Vec::new(),
        cwd: None,
    };
    let source = ServerSource {
        name: ServerName::from(SERVER),
        source: "built in".to_owned(),
        definition_hash: SERVER.to_owned(),
        expose: Expose::Code,
        observe: false,
    };
    Ok(Gateway::start(Parts {
        workers: workers(Lifetime::Command, minimum)?,
        upstreams: UpstreamPool::new(vec![ServerSpec::new(SERVER, TransportSpec::Stdio(spec))]),
        store: Store::in_memory()?,
        wall_ms: WALL_MS_DEFAULT,
        sources: vec![source],
    })
    .await)
}

async fn show(printer: &Printer, gateway: &Gateway) -> Result<Exit, Failure> {
    heading(
        printer,
        "A sample MCP server, `shop`, runs in a child process: 200 customers and 500 orders behind\n\
         pages of 50. This program is sent to Limbeck's `execute`:",
    );
    printer.data(&numbered(PROGRAM));
    // Starting is not part of what is shown, and a server that does not start has a better error here.
    start_server(gateway).await?;
    let started = Instant::now();
    let conversation = converse(gateway).await.map_err(Failure::fault)?;
    let took = started.elapsed();
    let envelope: Envelope = serde_json::from_str(&conversation.execute.1)
        .context("the result of `execute` is no envelope")
        .map_err(Failure::fault)?;
    if envelope.error.is_some() {
        let source = Source {
            name: "program.ts",
            text: PROGRAM,
        };
        print_envelope(printer, &envelope, source);
        return Ok(Exit::of(&envelope));
    }
    let calls = inner_calls(&gateway.store().journal(&envelope.execution_id).await?);
    heading(printer, "\nWhat it returned");
    printer.data(&result_table(&envelope)?);
    heading(
        printer,
        "\nThe calls it made, from the journal of the execution",
    );
    printer.data(&calls_table(&calls));
    heading(printer, "\nTokens in the model's context (o200k_base)");
    print_ledger(printer, &conversation, &calls)?;
    for warning in &envelope.warnings {
        printer.warning(warning);
    }
    tracing::info!("search and execute took {} ms", took.as_millis());
    Ok(Exit::Completed)
}

/// A line that is set off by an empty one.
fn heading(printer: &Printer, text: &str) {
    printer.data(&format!("{text}\n\n"));
}

async fn start_server(gateway: &Gateway) -> Result<(), Failure> {
    let reports = gateway.servers(Some(SERVER), PATIENCE).await;
    let reports = reports.map_err(|error| Failure::fault(anyhow!(error.message)))?;
    match reports.into_iter().next().and_then(|report| report.error) {
        Some(error) => Err(Failure::fault(anyhow!(
            "the sample server did not start: {error}"
        ))),
        None => Ok(()),
    }
}

/// What a client does: connect, list, search, execute.
async fn converse(gateway: &Gateway) -> anyhow::Result<Conversation> {
    let (ours, theirs) = tokio::io::duplex(DUPLEX_BYTES);
    let surface = Surface::new(gateway.clone(), "local");
    let serving = async {
        rmcp::serve_server(surface, theirs)
            .await
            .context("gateway side")
    };
    let connecting = async { rmcp::serve_client((), ours).await.context("client side") };
    let (server, client) = tokio::try_join!(serving, connecting)?;
    let info = client
        .peer_info()
        .context("the gateway did not introduce itself")?;
    let search = json!({"queries": QUERIES});
    let execute = json!({"code": PROGRAM});
    let conversation = Conversation {
        tools: client.list_all_tools().await?,
        instructions: info.instructions.clone().unwrap_or_default(),
        search: (search.to_string(), call(&client, "search", &search).await?),
        execute: (
            execute.to_string(),
            call(&client, "execute", &execute).await?,
        ),
    };
    client.cancel().await?;
    server.waiting().await?;
    Ok(conversation)
}

/// Calls one of Limbeck's own tools and gives the text of its answer.
async fn call(
    client: &Peer<RoleClient>,
    tool: &'static str,
    arguments: &Value,
) -> anyhow::Result<String> {
    let arguments: JsonObject = arguments.as_object().cloned().unwrap_or_default();
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(request).await?;
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| Some(block.as_text()?.text.as_str()))
        .collect();
    Ok(texts.join("\n"))
}

/// The rows the program returned, as a table of their keys.
fn result_table(envelope: &Envelope) -> Result<String, Failure> {
    let value = envelope.value.as_ref().map_or("[]", |value| value.get());
    let rows: Vec<JsonObject> = serde_json::from_str(value)
        .context("the program returned no rows")
        .map_err(Failure::fault)?;
    let mut table = Table::default().right([2, 3]).indented(2);
    if let Some(first) = rows.first() {
        table.row_of(first.keys().cloned().collect());
    }
    for row in &rows {
        let cell = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        table.row_of(row.values().map(cell).collect());
    }
    Ok(table.text())
}

/// Calls, time and bytes of each tool.
fn calls_table(calls: &[InnerCall]) -> String {
    let mut tools: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for call in calls {
        let (count, took_us, bytes) = tools.entry(call.label()).or_default();
        let result = call.result.as_ref().and_then(|result| result.as_ref().ok());
        *count += 1;
        *took_us += call.took_us.unwrap_or_default();
        *bytes += result.map_or(0, String::len) as u64;
    }
    let header = ["tool", "calls", "time, summed", "bytes returned"];
    let mut table = Table::with_header(header).right([1, 2, 3]).indented(2);
    for (label, (count, took_us, bytes)) in tools {
        table.row([label, count.to_string(), duration(took_us), grouped(bytes)]);
    }
    table.text()
}

fn print_ledger(
    printer: &Printer,
    conversation: &Conversation,
    calls: &[InnerCall],
) -> Result<(), Failure> {
    let ledger = Ledger::count(conversation, &upstream::tools(), calls)
        .context("tokens cannot be counted")
        .map_err(Failure::fault)?;
    printer.data(&ledger.text());
    printer.data_line(
        "\n  measured: what passed between a client and Limbeck in this run.\n  \
         computed: the same calls of this run, had a model made them one by one; that run was not\n  \
         made, and a model might have chosen other calls.",
    );
    Ok(())
}
