//! Resources and prompts of servers in programs, and servers that change what they offer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use limbeck_gateway::ToolReport;
use limbeck_gateway::domain::{JournalEntry, Language};
use limbeck_gateway::policy::Scope;
use limbeck_gateway::upstream::{
    Answers, Ask, CallContext, Caller, Declined, Progress, ServerSpec, StdioSpec, TransportSpec,
};
use limbeck_testkit::{FakeServer, World, request, run, run_python, value_of};
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::worker;

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
        const [note] = await servers.my_library.resources.read(listed[1].uri);
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
        // Five that the server answered, and the one it refused.
        assert_eq!(envelope.effects.unwrap().reads, 6, "{language}");
        let report = gateway
            .replay(envelope.execution_id.as_str())
            .await
            .unwrap();
        assert!(report.differences.is_empty(), "{:?}", report.differences);
    }
    // Replays ask nobody: twice seven requests, a list being two.
    assert_eq!(library.calls().len(), 14, "{:?}", library.calls());
    gateway.shutdown().await;
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

fn process(name: &str, script: &str, args: &[&str]) -> ServerSpec {
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

/// Accepts every form and keeps the messages it hears.
#[derive(Default)]
struct Agreeing(Mutex<Vec<String>>);

impl Caller for Agreeing {
    fn progress(&self, progress: Progress) {
        let message = progress.message.unwrap_or_default();
        self.0.lock().unwrap().push(message);
    }

    fn answers(&self) -> Answers {
        Answers {
            elicitation_form: true,
            ..Answers::NONE
        }
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>> {
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
    let context = CallContext::new(CancellationToken::new()).with_caller(Some(caller.clone()));
    let envelope = gateway.execute(request(program), context).await;
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(value_of(&envelope), json!([accepted, "input_required"]));
    // Each call is named when it begins, and what its server reports comes under that name.
    let told = caller.0.lock().unwrap().join(" ");
    let progress = "asking.progress asking.progress asking.progress";
    assert_eq!(told, format!("{progress} asking.ask asking.rounds"));
    // The control: the same program of somebody who cannot be asked.
    let envelope = run(&gateway, program).await;
    assert_eq!(
        value_of(&envelope),
        json!([{"action": "decline"}, "input_required"])
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_reaches_the_server_within_a_quarter_of_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    let spec = process("asking", "asking.py", &["--log", log.to_str().unwrap()]);
    let gateway = World::new(worker()).process(spec).start().await;
    let cancel = CancellationToken::new();
    let program = "return await tools.asking.wait({ ms: 20000 })";
    let running = gateway.execute(request(program), cancel.clone());
    let told_after = async {
        until("the call arrives", || said().contains("20000")).await;
        let left = Instant::now();
        cancel.cancel();
        until("the server is told", || {
            said().contains("notifications/cancelled")
        })
        .await;
        left.elapsed()
    };
    let (envelope, told_after) = tokio::join!(running, told_after);
    assert!(envelope.error.is_some());
    assert!(told_after < Duration::from_millis(250), "{told_after:?}");
    gateway.shutdown().await;
}

/// Waits for a condition, at most twenty seconds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
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
    let deadline = Instant::now() + Duration::from_secs(10);
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
    // What it takes now is what calls are judged by, before anything is sent.
    let judged = run(
        &gateway,
        "return await tools.weather.get_weather({ city: 'Rome' })",
    )
    .await;
    assert!(judged.error.unwrap().message.contains("context"));
    gateway.shutdown().await;
}
