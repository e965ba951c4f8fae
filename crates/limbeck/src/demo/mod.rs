//! `limbeck demo`: the whole path, with nothing but this executable.
//!
//! A real gateway, a real worker, and a sample server as a child process over stdio. The demo stands
//! where a client stands and speaks MCP with the gateway, so that what it counts is what passed.

mod offers;
mod records;
pub(crate) mod upstream;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use limbeck_gateway::domain::limits::WALL_MS_DEFAULT;
use limbeck_gateway::domain::{Account, Envelope, Expose, ServerName, Tier, Tokens};
use limbeck_gateway::store::Store;
use limbeck_gateway::surface::Surface;
use limbeck_gateway::upstream::{Pool as UpstreamPool, ServerSpec, StdioSpec, TransportSpec};
use limbeck_gateway::{Gateway, InnerCall, Parts, ServerSource, inner_calls, ledger};
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::{Peer, RoleClient};
use serde_json::{Value, json};

use crate::commands::{numbered, verdict};
use crate::env::own_executable;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::{Source, print_envelope};
use crate::table::{Table, duration, grouped};
use crate::wiring::{Lifetime, shut_down, workers};

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
        embeddings: None,
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
    let answer = converse(gateway).await.map_err(Failure::fault)?;
    let took = started.elapsed();
    let envelope: Envelope = serde_json::from_str(&answer)
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
    let account = ledger::entry(gateway.store(), &envelope.execution_id).await?;
    print_account(printer, &account.unwrap_or_default());
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
/// Gives what `execute` answered.
async fn converse(gateway: &Gateway) -> anyhow::Result<String> {
    let (ours, theirs) = tokio::io::duplex(DUPLEX_BYTES);
    let surface = Surface::new(gateway.clone(), "local");
    let serving = async {
        rmcp::serve_server(surface, theirs)
            .await
            .context("gateway side")
    };
    let connecting = async { rmcp::serve_client((), ours).await.context("client side") };
    let (server, client) = tokio::try_join!(serving, connecting)?;
    client.list_all_tools().await?;
    call(&client, "search", &json!({"queries": QUERIES})).await?;
    let answer = call(&client, "execute", &json!({"code": PROGRAM})).await?;
    client.cancel().await?;
    server.waiting().await?;
    Ok(answer)
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

fn print_account(printer: &Printer, account: &Account) {
    let mut table = Table::default().right([1]).indented(2);
    table.row(["direct tool calls", "tokens", ""]);
    for server in account.servers.values() {
        let (tools, turns, calls) = (server.tools, account.rounds, server.calls);
        let definitions = format!("definitions of {tools} tools, in {turns} turns");
        row(&mut table, definitions, server.definitions.times(turns));
        row(
            &mut table,
            format!("arguments of {calls} calls"),
            server.arguments,
        );
        row(
            &mut table,
            format!("results of {calls} calls"),
            server.results,
        );
    }
    row(&mut table, "sum", account.direct());
    table.row(["", "", ""]);
    table.row(["through Limbeck", "tokens", ""]);
    let turns = account.turns;
    let definitions = format!("definitions of its tools, in {turns} turns");
    row(&mut table, definitions, account.definitions.times(turns));
    let instructions = format!("instructions, in {turns} turns");
    row(&mut table, instructions, account.instructions.times(turns));
    row(&mut table, "search, asked and answered", account.searches);
    row(&mut table, "the program", account.program);
    row(&mut table, "its result", account.result);
    row(&mut table, "sum", account.limbeck());
    printer.data(&table.text());
    let verdict = verdict(account.limbeck().count, account.direct().count);
    printer.data_line(&format!(
        "\n  {verdict}\n\n  \
         measured: what passed between a client and Limbeck in this run.\n  \
         computed: the same calls of this run, had a model made them, side by side where the program\n  \
         did; that run was not made, and a model might have chosen other calls.\n  \
         A model reads the definitions it was given anew at each turn.",
    ));
}

fn row(table: &mut Table, what: impl AsRef<str>, tokens: Tokens) {
    table.row([
        format!("  {}", what.as_ref()),
        grouped(tokens.count),
        tokens.basis.as_str().to_owned(),
    ]);
}
