//! `limbeck demo`: a program with calls of a sample server, from the client's request to the result.
//!
//! The gateway and the worker are real, and the sample server is a child process over stdio. The demo is the MCP client
//! of the gateway, so the tokens it counts are those of real messages.

mod records;
mod resources;
pub(crate) mod sample_server;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use limbeck_domain::limits::{WALL_MS_DEFAULT, WALL_MS_MAX};
use limbeck_domain::{Envelope, Expose, ServerName, Tier, TokenCount, TokenUsage, ToolRules};
use limbeck_gateway::{
    Gateway, GatewayConfig, InnerCall, ModelsConfig, PinLock, ServerSource, inner_calls, ledger,
};
use limbeck_policy::{Classes, Policy};
use limbeck_server::surface::{McpServer, client_listing};
use limbeck_store::Store;
use limbeck_upstream::{ServerSpec, StdioSpec, TransportSpec, UpstreamPool};
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::{Peer, RoleClient};
use serde_json::{Value, json};

use crate::environment::own_executable;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{duration_text, grouped_digits, numbered_lines, token_comparison};
use crate::printer::Printer;
use crate::report::{ProgramSource, print_envelope};
use crate::table::TextTable;
use crate::wiring::{GatewayLifetime, shut_down, workers};

/// Name of the sample server.
const SERVER: &str = "shop";
const PROGRAM: &str = include_str!("demo/program.ts");
/// Queries of the search that a model would make before it writes the program.
const QUERIES: [&str; 2] = ["list customers", "list orders by status"];
/// Buffer between the demo and the gateway, in bytes.
const DUPLEX_BYTES: usize = 64 << 10;
/// Time for the sample server to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs the sample program in a sandbox of at least the tier `minimum`, and prints its calls, result and tokens.
pub(crate) async fn demo(printer: &Printer, minimum: Tier) -> Result<ExitStatus, CommandError> {
    let gateway = gateway(minimum).await?;
    let shown = show(printer, &gateway).await;
    shut_down(&gateway).await;
    shown
}

/// Gateway with the sample server and a store in memory.
async fn gateway(minimum: Tier) -> Result<Gateway, CommandError> {
    let spec = StdioSpec {
        command: own_executable().map_err(CommandError::fault)?,
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
        tool_rules: ToolRules::default(),
    };
    Ok(Gateway::start(GatewayConfig {
        workers: workers(GatewayLifetime::Command, minimum.into())?,
        upstreams: UpstreamPool::new(vec![ServerSpec::new(SERVER, TransportSpec::Stdio(spec))]),
        store: Store::in_memory()?,
        wall_ms: WALL_MS_DEFAULT,
        wall_ms_max: WALL_MS_MAX,
        sources: vec![source],
        notices: Vec::new(),
        policy: Policy {
            // The server is our own, and what it says of its tools is so.
            classes: Classes::new(Vec::new(), [ServerName::from(SERVER)].into())
                .unwrap_or_default(),
            ..Policy::default()
        },
        embeddings: None,
        models: ModelsConfig::default(),
        client_listing,
        pin_lock: PinLock::default(),
    })
    .await)
}

async fn show(printer: &Printer, gateway: &Gateway) -> Result<ExitStatus, CommandError> {
    heading(
        printer,
        "A sample MCP server, `shop`, runs in a child process: 200 customers and 500\n\
         orders behind pages of 50. This program is sent to Limbeck's `execute`:",
    );
    printer.data(&numbered_lines(PROGRAM));
    // The time of the start is not measured, and a server that does not start has a better error here.
    start_server(gateway).await?;
    let started = Instant::now();
    let answer = converse(gateway).await.map_err(CommandError::fault)?;
    let took = started.elapsed();
    let envelope: Envelope = serde_json::from_str(&answer)
        .context("the result of `execute` is not an envelope")
        .map_err(CommandError::fault)?;
    if envelope.error.is_some() {
        let source = ProgramSource {
            name: "program.ts",
            text: PROGRAM,
        };
        print_envelope(printer, &envelope, source);
        return Ok(ExitStatus::of(&envelope));
    }
    let calls = inner_calls(&gateway.store().journal(&envelope.execution_id).await?);
    heading(printer, "\nThe value it returned");
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
    Ok(ExitStatus::Completed)
}

/// Prints a line and an empty line after it.
fn heading(printer: &Printer, text: &str) {
    printer.data(&format!("{text}\n\n"));
}

async fn start_server(gateway: &Gateway) -> Result<(), CommandError> {
    let reports = gateway.servers(Some(SERVER), START_TIMEOUT).await;
    let reports = reports.map_err(|error| CommandError::fault(anyhow!(error.message)))?;
    match reports.into_iter().next().and_then(|report| report.error) {
        Some(error) => Err(CommandError::fault(anyhow!(
            "the sample server did not start: {error}"
        ))),
        None => Ok(()),
    }
}

/// Acts as a client: connects, lists tools, searches and executes. Returns the answer of `execute`.
async fn converse(gateway: &Gateway) -> anyhow::Result<String> {
    let (client_end, gateway_end) = tokio::io::duplex(DUPLEX_BYTES);
    let surface = McpServer::new(gateway.clone()).surface("local");
    let serving = async {
        rmcp::serve_server(surface, gateway_end)
            .await
            .context("gateway side")
    };
    let connecting = async {
        rmcp::serve_client((), client_end)
            .await
            .context("client side")
    };
    // Both sides of the handshake wait for each other, so they run concurrently.
    let (server, client) = tokio::try_join!(serving, connecting)?;
    client.list_all_tools().await?;
    call(&client, "search", &json!({"queries": QUERIES})).await?;
    let answer = call(&client, "execute", &json!({"code": PROGRAM})).await?;
    client.cancel().await?;
    server.waiting().await?;
    Ok(answer)
}

/// Calls one of Limbeck's own tools and returns the text of its result.
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

/// Table of the rows that the program returned.
fn result_table(envelope: &Envelope) -> Result<String, CommandError> {
    let value = envelope.value.as_ref().map_or("[]", |value| value.get());
    let rows: Vec<JsonObject> = serde_json::from_str(value)
        .context("the program returned no rows")
        .map_err(CommandError::fault)?;
    let mut table = TextTable::default().right([2, 3]).indented(2);
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

/// Table of calls, time and bytes of each tool.
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
    let mut table = TextTable::with_header(header).right([1, 2, 3]).indented(2);
    for (label, (count, took_us, bytes)) in tools {
        table.row([
            label,
            count.to_string(),
            duration_text(took_us),
            grouped_digits(bytes),
        ]);
    }
    table.text()
}

fn print_account(printer: &Printer, account: &TokenUsage) {
    let mut table = TextTable::default().right([1]).indented(2);
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
    row(&mut table, "search: query and answer", account.searches);
    row(&mut table, "the program", account.program);
    row(&mut table, "its result", account.result);
    row(&mut table, "sum", account.limbeck());
    printer.data(&table.text());
    let verdict = token_comparison(account.limbeck().count, account.direct().count);
    printer.data_line(&format!(
        "\n  {verdict}\n\n  \
         measured: messages between the client and Limbeck in this run.\n  \
         computed: the calls of this run as direct calls of a model, in parallel\n  \
         where the program made them in parallel; a model might have chosen others.\n  \
         A model reads all tool definitions again at each turn.",
    ));
}

fn row(table: &mut TextTable, what: impl AsRef<str>, tokens: TokenCount) {
    table.row([
        format!("  {}", what.as_ref()),
        grouped_digits(tokens.count),
        tokens.basis.as_str().to_owned(),
    ]);
}
