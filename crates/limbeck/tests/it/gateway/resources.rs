//! Resources and prompts of servers in programs, and servers that change their lists.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use limbeck_domain::limits::LIST_PAGES_MAX;
use limbeck_domain::{JournalEntry, Language};
use limbeck_gateway::ToolReport;
use limbeck_policy::Scope;
use limbeck_testkit::{FakeServer, World, request, run, run_python, value_of};
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, ProgressUpdate, ServerRequest,
    ServerSpec, StdioSpec, TransportSpec,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

fn library() -> Arc<FakeServer> {
    FakeServer::new("my-library")
        .read("echo", |arguments| arguments)
        .resource("note:1", "one")
        .resource("note:2", "two")
        .share()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_read_resources_and_prompts_in_either_language() {
    let library = library();
    let gateway = World::new(worker()).server(&library).start().await;
    let typescript = r#"
        const library = servers["my-library"];
        const listed = await library.resources.list();
        const read = await servers.my_library.resources.read(listed[1].uri);
        const [note] = read;
        // As in MCP's own result.
        if (read.contents[0].text !== "two" || read.text !== "two") throw new Error("other names");
        if (`${read}` !== "two") throw new Error("no text");
        const prompt = await library.prompts.get("letter", { to: "Ada" });
        const nothing = [await library.resources.templates(), await library.prompts.list()];
        let refused;
        try { await library.resources.read("note:9") } catch (error: any) { refused = [error.code, error.tool] }
        return [listed.map(({ uri }) => uri), note, prompt.messages, nothing, refused,
            typeof servers, (await servers()).length, Object.keys(servers)];
    "#;
    let python = r#"
library = servers["my-library"]
listed = library.resources.list()
[note] = servers.my_library.resources.read(listed[1].uri)
prompt = library.prompts.get("letter", to="Ada")
nothing = [library.resources.templates(), library.prompts.list()]
try:
    library.resources.read("note:9")
except ToolError as error:
    refused = [error.code, error.tool]
return [[one.uri for one in listed], note, prompt.messages, nothing, refused, "function", len(servers()), list(servers)]
"#;
    let expected = json!([
        ["note:1", "note:2"],
        {"uri": "note:2", "text": "two"},
        [{"name": "letter", "arguments": {"to": "Ada"}}],
        [[], []],
        ["upstream_error", "resources/read"],
        "function",
        1,
        ["my-library"],
    ]);
    for (language, envelope) in [
        (Language::Typescript, run(&gateway, typescript).await),
        (Language::Python, run_python(&gateway, python).await),
    ] {
        assert_eq!(value_of(&envelope), expected, "{language}");
        // Five requests that the server answered, and one that it rejected.
        assert_eq!(envelope.effects.unwrap().reads, 6, "{language}");
        let report = gateway
            .replay(envelope.execution_id.as_str())
            .await
            .unwrap();
        assert!(report.differences.is_empty(), "{:?}", report.differences);
    }
    // Replays send no requests: there were seven in each run, and a list takes two.
    assert_eq!(library.calls().len(), 14, "{:?}", library.calls());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_only_the_json_in_a_resource_has_is_a_warning() {
    let library = FakeServer::new("library")
        .resource("limits:1", r#"{"max": 5, "uri": "other"}"#)
        .resource("note:1", "max is 5")
        .share();
    let gateway = World::new(worker()).server(&library).start().await;
    let reading = |uri: &str, rest: &str| {
        format!("const r = await servers.library.resources.read('{uri}'); {rest}")
    };
    for rest in ["return `max ${r.max}`", "return `max ${r[0].max}`"] {
        let warnings = run(&gateway, &reading("limits:1", rest)).await.warnings;
        let warnings = warnings.join("\n");
        assert!(
            warnings.contains("`max` was read of the contents of a resource")
                && warnings.contains("`JSON.parse(contents[0].text)`"),
            "{rest}: {warnings}"
        );
    }
    // The controls: what is parsed, what a content has itself, what the program assigns, and a text without JSON.
    for (uri, rest, value) in [
        ("limits:1", "return JSON.parse(r[0].text).max", json!(5)),
        ("limits:1", "return r[0].uri", json!("limits:1")),
        ("limits:1", "r[0].max = 7; return r[0].max", json!(7)),
        ("note:1", "return r.max ?? 0", json!(0)),
    ] {
        let envelope = run(&gateway, &reading(uri, rest)).await;
        assert_eq!(value_of(&envelope), value, "{rest}");
        assert_eq!(envelope.warnings, [""; 0], "{rest}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_too_many_pages_is_an_error_and_no_part_of_it_passes_for_the_whole() {
    for (pages, expected) in [
        (LIST_PAGES_MAX, json!(LIST_PAGES_MAX)),
        (LIST_PAGES_MAX + 1, json!("limit_exceeded")),
    ] {
        let library = (0..pages).fold(FakeServer::new("library"), |library, page| {
            library.resource(&format!("note:{page}"), "")
        });
        let library = library.share();
        let gateway = World::new(worker()).server(&library).start().await;
        let program = r"
            try { return (await servers.library.resources.list()).length }
            catch (error: any) { return error.code }
        ";
        assert_eq!(value_of(&run(&gateway, program).await), expected, "{pages}");
        gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_outside_the_scope_is_refused_and_journalled_as_not_sent() {
    let library = library();
    let gateway = World::new(worker()).server(&library).start().await;
    let program = r#"
        try { await servers["my-library"].resources.read("note:1"); return "read" }
        catch (error: any) { return error.code }
    "#;
    for (pattern, expected) in [
        ("my-library.echo", "denied"),
        ("my-library.resources/*", "read"),
        ("my-library.*", "read"),
    ] {
        let mut narrowed = request(program);
        narrowed.scope = Scope::parse([pattern]).unwrap();
        let envelope = gateway.execute(narrowed, CancellationToken::new()).await;
        assert_eq!(value_of(&envelope), json!(expected), "{pattern}");
        let journal = gateway
            .store()
            .journal(&envelope.execution_id)
            .await
            .unwrap();
        let sent: Vec<bool> = journal
            .iter()
            .filter_map(|entry| match entry {
                JournalEntry::Call { sent, .. } => Some(*sent),
                _ => None,
            })
            .collect();
        assert_eq!(sent, [expected == "read"], "{pattern}");
    }
    assert_eq!(library.calls(), ["resources/read"; 2]);
    gateway.shutdown().await;
}

pub(super) fn process(name: &str, script: &str, args: &[&str]) -> ServerSpec {
    let scripts = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../limbeck-upstream/tests/servers"
    );
    let mut words = vec!["-B".to_owned(), format!("{scripts}/{script}")];
    words.extend(args.iter().map(|arg| (*arg).to_owned()));
    let stdio = StdioSpec {
        command: "python3".into(),
        args: words,
        env: vec![("PATH".to_owned(), "/usr/bin:/usr/local/bin:/bin".to_owned())],
        cwd: None,
    };
    ServerSpec::new(name, TransportSpec::Stdio(stdio))
}

/// Client that accepts every form and records the messages of progress.
#[derive(Default)]
struct Agreeing(Mutex<Vec<String>>);

impl CallObserver for Agreeing {
    fn progress(&self, progress: ProgressUpdate) {
        let message = progress.message.unwrap_or_default();
        self.0.lock().unwrap().push(message);
    }

    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation_form: true,
            ..ClientCapabilities::NONE
        }
    }

    fn request(&self, ask: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        assert_eq!(ask.server.as_str(), "asking");
        let answer = r#"{"action":"accept","content":{"name":"Ada"}}"#.to_owned();
        Box::pin(async move { Ok(RawValue::from_string(answer).unwrap()) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_a_program_hears_its_calls_and_answers_their_servers() {
    let spec = process("asking", "asking.py", &[]);
    let gateway = World::new(worker()).process(spec).start().await;
    let program = r#"
        const params = { message: "Who?" };
        await tools.asking.progress({ steps: [{ progress: 1 }, { progress: 2 }] });
        const asked = await tools.asking.ask({ method: "elicitation/create", params });
        let code;
        try {
            const inputs = { a: { method: "sampling/createMessage", params: {} } };
            await tools.asking.rounds({ rounds: 1, inputs });
        } catch (error: any) { code = error.code }
        return [asked.result, code];
    "#;
    let caller = Arc::new(Agreeing::default());
    let context = CallContext::new(CancellationToken::new()).with_observer(Some(caller.clone()));
    let envelope = gateway.execute(request(program), context).await;
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(value_of(&envelope), json!([accepted, "input_required"]));
    // A message names each call at its begin, and progress of its server has the same name.
    let messages = caller.0.lock().unwrap().join(" ");
    let progress = "asking.progress asking.progress asking.progress";
    assert_eq!(messages, format!("{progress} asking.ask asking.rounds"));
    // The control: the same program for a client without elicitation.
    let envelope = run(&gateway, program).await;
    assert_eq!(
        value_of(&envelope),
        json!([{"action": "decline"}, "input_required"])
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_reaches_the_server_while_its_call_waits() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
    let spec = process("asking", "asking.py", &["--log", log.to_str().unwrap()]);
    let gateway = World::new(worker()).process(spec).start().await;
    let cancel = CancellationToken::new();
    let program = "return await tools.asking.wait({ ms: 90000 })";
    let running = gateway.execute(request(program), cancel.clone());
    let cancelled = async {
        until("the call arrives", || log_text().contains("90000")).await;
        cancel.cancel();
        // Long before the call would have ended.
        until("the server receives the cancellation", || {
            log_text().contains("notifications/cancelled")
        })
        .await;
    };
    let (envelope, ()) = tokio::join!(running, cancelled);
    assert!(envelope.error.is_some());
    gateway.shutdown().await;
}

/// Waits for a condition, at most thirty seconds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn tools_of(gateway: &limbeck_gateway::Gateway, server: &str) -> Vec<ToolReport> {
    let reports = gateway.servers(Some(server), Duration::from_secs(10)).await;
    reports.unwrap().remove(0).tools
}

#[tokio::test(flavor = "multi_thread")]
async fn h08_a_tool_that_turns_into_another_is_noticed_and_said() {
    let spec = process("weather", "h08_rug_pull.py", &["1", "notify"]);
    let gateway = World::new(worker()).process(spec).start().await;
    let before = tools_of(&gateway, "weather").await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].changed_us, None);
    let called = run(
        &gateway,
        "return await tools.weather.get_weather({ city: 'Rome' })",
    )
    .await;
    assert_eq!(value_of(&called), json!("sunny"));
    let deadline = Instant::now() + Duration::from_secs(30);
    let after = loop {
        let after = tools_of(&gateway, "weather").await;
        if after.len() == 2 {
            break after;
        }
        assert!(Instant::now() < deadline, "the change is never seen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(after[0].changed_us.is_some(), "the tool that was there");
    assert_eq!(after[1].changed_us, None, "the one that is new");
    // Calls are checked against the new definition before anything is sent.
    let judged = run(
        &gateway,
        "return await tools.weather.get_weather({ city: 'Rome' })",
    )
    .await;
    assert!(judged.error.unwrap().message.contains("context"));
    gateway.shutdown().await;
}
