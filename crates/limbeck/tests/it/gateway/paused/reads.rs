//! Resources and prompts that a rule asks about: a person decides about a program's read as about its call.

use std::sync::Arc;

use limbeck_domain::{ApprovalId, ApprovalState, ExecutionStatus, Language, ReadMethod};
use limbeck_gateway::direct::{DirectAnswer, DirectError};
use limbeck_gateway::{DecisionError, Gateway, ResumeError};
use limbeck_policy::rules::AskOptions;
use limbeck_testkit::FakeServer;
use limbeck_upstream::CallContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Paused, asking_about, gateway_with, value};

const TYPESCRIPT: &str = r#"
    const { resources, prompts } = servers.library;
    const note = (await resources.read("note:1")).text;
    let letter;
    try { letter = (await prompts.get("letter", { to: "Ada" })).messages[0].name }
    catch (error: any) { letter = [error.code, error.tool] }
    return [note, letter];
"#;
/// Another prompt than that of the other program: a denial counts for the same request of other runs.
const PYTHON: &str = r#"
library = servers.library
note = library.resources.read("note:1").text
try:
    letter = library.prompts.get("letter", to="Ben").messages[0].name
except ToolError as error:
    letter = [error.code, error.tool]
return [note, letter]
"#;

fn library() -> Arc<FakeServer> {
    FakeServer::new("library")
        .resource("note:1", "one")
        .resource("note:2", "two")
        .share()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_and_a_prompt_wait_for_a_person_and_are_sent_once_or_not_at_all() {
    let world = Paused::with(library(), asking_about("library", None)).await;
    for (language, program) in [
        (Language::Typescript, TYPESCRIPT),
        (Language::Python, PYTHON),
    ] {
        for is_allowed in [true, false] {
            let before = world.server.calls().len();
            let id = world.paused(language, program).await;
            let asked = world.gateway.pending_approvals(None, Some(&id), true);
            let asked = asked.await.unwrap();
            let [read] = asked.as_slice() else {
                panic!("one question: {asked:?}")
            };
            assert_eq!(read.tool.to_string(), "library.resources/read");
            assert_eq!(read.arguments, r#"{"uri":"note:1"}"#);
            assert_eq!(world.server.calls().len(), before);
            world.decide(&read.id, true).await;
            // The next question, about the prompt.
            let paused = world.resume(&id).await.unwrap();
            assert_eq!(paused.status, ExecutionStatus::Paused);
            let sent = |world: &Paused| world.server.calls().split_off(before);
            assert_eq!(sent(&world), ["resources/read"]);
            let [prompt] = world.questions(&id, true).await.try_into().unwrap();
            world.decide(&prompt, is_allowed).await;
            let ended = world.resume(&id).await.unwrap();
            let letter = match is_allowed {
                true => json!("letter"),
                false => json!(["denied", "prompts/get"]),
            };
            assert_eq!(value(&ended), json!(["one", letter]), "{language}");
            let expected: &[&str] = match is_allowed {
                true => &["resources/read", "prompts/get"],
                false => &["resources/read"],
            };
            assert_eq!(sent(&world), expected);
            let approvals = world.gateway.pending_approvals(None, Some(&id), false);
            let approvals = approvals.await.unwrap();
            let spent = |it: &&limbeck_domain::Approval| it.state == ApprovalState::Spent;
            assert_eq!(approvals.iter().filter(spent).count(), expected.len());
            // Nothing is sent a second time.
            let again = world.resume(&id).await;
            assert!(matches!(again, Err(ResumeError::Ended(_))), "{again:?}");
            assert_eq!(sent(&world), expected);
            let replayed = world.gateway.replay(id.as_str()).await.unwrap();
            assert!(
                replayed.differences.is_empty(),
                "{:?}",
                replayed.differences
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_list_is_approved_with_all_its_pages_and_another_list_is_not() {
    let program = r#"
        const listed = await servers.library.resources.list();
        return [listed.length, (await servers.library.resources.list()).length];
    "#;
    let policy = asking_about("library.resources/list", None);
    let world = Paused::with(library(), policy).await;
    let id = world.paused(Language::Typescript, program).await;
    world.approve_all(&id).await;
    let paused = world.resume(&id).await.unwrap();
    // Two pages of the first list; the second one is asked about again.
    assert_eq!(paused.status, ExecutionStatus::Paused);
    assert_eq!(world.server.calls(), ["resources/list"; 2]);
    world.approve_all(&id).await;
    let ended = world.resume(&id).await.unwrap();
    assert_eq!(value(&ended), json!([2, 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_uri_of_a_read_is_changed_where_the_rule_says_so_and_what_is_sent_is_checked() {
    let ask = AskOptions {
        edit: vec!["uri".to_owned()],
        ..AskOptions::default()
    };
    let program = r#"return (await servers.library.resources.read("note:1")).text"#;
    let policy = asking_about("library.resources/read", Some(ask));
    let world = Paused::with(library(), policy).await;
    let id = world.paused(Language::Typescript, program).await;
    let [question] = world.questions(&id, true).await.try_into().unwrap();
    let refused = world.decide_with(&question, true, Some(r#"{"uri": 2}"#));
    let refused = refused.await;
    assert!(
        matches!(refused, Err(DecisionError::InvalidEdit(_))),
        "{refused:?}"
    );
    let edited = world.decide_with(&question, true, Some(r#"{"uri": "note:2"}"#));
    edited.await.unwrap();
    let ended = world.resume(&id).await.unwrap();
    assert_eq!(value(&ended), json!("two"));
    let warnings = ended.warnings.join("\n");
    assert!(
        warnings.contains("an approver changed the arguments of call #1"),
        "{warnings}"
    );
}

/// Another process on the same state file.
async fn other_gateway(world: &Paused, pattern: &str) -> Gateway {
    let policy = asking_about(pattern, None);
    gateway_with(&world.state_file(), &world.server, policy).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_goes_on_in_another_process_with_its_approval() {
    let program = r#"return (await servers.library.resources.read("note:1")).text"#;
    let mut world = Paused::with(library(), asking_about("library", None)).await;
    let id = world.paused(Language::Typescript, program).await;
    world.gateway.shutdown().await;
    world.gateway = other_gateway(&world, "library").await;
    assert_eq!(world.server.calls(), [""; 0]);
    world.approve_all(&id).await;
    let ended = world.resume(&id).await.unwrap();
    assert_eq!(value(&ended), json!("one"));
    assert_eq!(world.server.calls(), ["resources/read"]);
}

/// The only question that waits, once there is one.
async fn asked(world: &Paused) -> ApprovalId {
    loop {
        let pending = world.gateway.pending_approvals(None, None, true).await;
        if let [one] = pending.unwrap().as_slice() {
            return one.id.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_reads_itself_waits_for_a_person_too() {
    let policy = asking_about("library.resources/read", None);
    let world = Paused::with(library(), policy).await;
    let read = |uri: &'static str| {
        let gateway = world.gateway.clone();
        let params = json!({ "uri": uri }).to_string();
        let context = CallContext::new(CancellationToken::new());
        async move {
            let method = ReadMethod::ReadResource;
            gateway
                .read_for_client(&"library".into(), method, params, context)
                .await
        }
    };
    let (answer, ()) = tokio::join!(read("note:1"), async {
        let question = asked(&world).await;
        assert_eq!(world.server.calls(), [""; 0]);
        world.decide(&question, true).await;
    });
    let Ok(DirectAnswer::Read { result, note: None }) = answer else {
        panic!("{answer:?}")
    };
    assert!(result.get().contains("\"contents\""), "{result}");
    assert_eq!(world.server.calls(), ["resources/read"]);

    let (denied, ()) = tokio::join!(read("note:2"), async {
        let question = asked(&world).await;
        world.decide(&question, false).await;
    });
    let Err(DirectError::Call(error)) = denied else {
        panic!("{denied:?}")
    };
    assert!(error.message.contains("denied"), "{error:?}");
    assert_eq!(world.server.calls(), ["resources/read"]);

    // The control: what no rule is about is read at once, and leaves no record.
    let context = CallContext::new(CancellationToken::new());
    let server = "library".into();
    let prompt = world.gateway.read_for_client(
        &server,
        ReadMethod::GetPrompt,
        json!({ "name": "letter", "arguments": { "to": "Ada" } }).to_string(),
        context,
    );
    let prompt = prompt.await.unwrap();
    assert!(matches!(prompt, DirectAnswer::Result { .. }), "{prompt:?}");
    assert_eq!(world.server.calls(), ["resources/read", "prompts/get"]);
}
