//! Rules about calls hold on every way out of a program, and an answer names the rule.

use limbeck_domain::{EffectClass, ReadMethod, ToolId};
use limbeck_gateway::direct::{DirectCall, DirectError};
use limbeck_gateway::search::SearchRequest;
use limbeck_gateway::{ExecuteRequest, LOCAL_PRINCIPAL, OnAsk};
use limbeck_policy::rules::{ArgumentPath, Condition, Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Classes, Policy, Scope};
use limbeck_testkit::{FakeServer, World, python_request, request, run, run_python, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

fn rule(id: &str, effect: Effect, pattern: &str) -> Rule {
    Rule {
        id: id.to_owned(),
        effect,
        tools: Scope::parse([pattern]).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: Some("the reason".to_owned()),
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    }
}

fn policy(rules: Vec<Rule>, preset: Preset) -> Policy {
    Policy {
        rules: RuleSet::new(rules, &[], preset).unwrap(),
        classes: Classes::default(),
        ..Policy::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_is_not_sent_from_either_language_and_names_its_rule() {
    let mail = FakeServer::new("mail")
        .write("send", |_| json!({"sent": true}))
        .read("list", |_| json!([]))
        .share();
    let outside = json!({ "not_glob": "*@example.com" });
    let arguments = (
        ArgumentPath::parse("to[*]").unwrap(),
        Condition::from_value(&outside).unwrap(),
    );
    let rules = vec![
        Rule {
            arguments: vec![arguments],
            ..rule("outside", Effect::Deny, "mail.send")
        },
        rule("approve", Effect::Ask, "mail.list"),
    ];
    let world = World::new(worker()).server(&mail);
    let gateway = world.policy(policy(rules, Preset::Observe)).start().await;
    let typescript = r#"
        const seen: any[] = [];
        for (const to of [["a@x.org"], ["a@example.com"], ["a@example.com", "a@x.org"]]) {
            try { seen.push(await tools.mail.send({ to })) }
            catch (error: any) { seen.push([error.code, error.message]) }
        }
        try { await tools.mail.list({}) } catch (error: any) { seen.push(error.message) }
        return seen;
    "#;
    let python = r#"
seen = []
for to in [["a@x.org"], ["a@example.com"], ["a@example.com", "a@x.org"]]:
    try:
        seen.append(tools.mail.send(to=to))
    except ToolError as error:
        seen.append([error.code, error.message])
try:
    tools.mail.list()
except ToolError as error:
    seen.append(error.message)
return seen
"#;
    let denied = json!([
        "denied",
        "`mail.send` is denied by rule `outside`: the reason"
    ]);
    let expected = json!([
        denied,
        {"sent": true},
        denied,
        "`mail.list` has to be approved by a person, by rule `approve`: the reason; no person can be asked here",
    ]);
    let unasked = |request: ExecuteRequest| ExecuteRequest {
        on_ask: OnAsk::Deny,
        ..request
    };
    for request in [request(typescript), python_request(python)] {
        let envelope = gateway
            .execute(unasked(request), CancellationToken::new())
            .await;
        assert_eq!(value_of(&envelope), expected);
        assert_eq!(envelope.effects.unwrap().writes, 1);
        let replayed = gateway
            .replay(envelope.execution_id.as_str())
            .await
            .unwrap();
        assert!(
            replayed.differences.is_empty(),
            "{:?}",
            replayed.differences
        );
    }
    // One call of each language reached the server.
    assert_eq!(mail.calls(), ["send", "send"]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_under_the_rules_and_prompts_are_not_meant_by_them() {
    let library = FakeServer::new("library").resource("note:1", "one").share();
    let rules = vec![rule("no-notes", Effect::Deny, "library.resources/*")];
    let world = World::new(worker()).server(&library);
    let gateway = world.policy(policy(rules, Preset::Readonly)).start().await;
    let program = r#"
        const seen: any[] = [];
        try { seen.push(await servers.library.resources.read("note:1")) }
        catch (error: any) { seen.push([error.code, error.message]) }
        seen.push((await servers.library.prompts.get("letter", { to: "Ada" })).messages.length);
        return seen;
    "#;
    let envelope = run(&gateway, program).await;
    let message = "`library.resources/read` is denied by rule `no-notes`: the reason";
    assert_eq!(value_of(&envelope), json!([["denied", message], 1]));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_knows_reads_by_the_operators_word_alone() {
    let reads = |classes: Classes| async move {
        let files = FakeServer::new("files").read("peek", |_| json!(1)).share();
        let policy = Policy {
            classes,
            ..policy(Vec::new(), Preset::Unattended)
        };
        let gateway = World::new(worker())
            .server(&files)
            .policy(policy)
            .start()
            .await;
        let envelope = run(&gateway, "return await tools.files.peek({})").await;
        gateway.shutdown().await;
        (envelope.value, envelope.error.map(|error| error.message))
    };
    // The server says of its tool that it only reads.
    let (_, refused) = reads(Classes::default()).await;
    let refused = refused.unwrap();
    let words = "the policy `unattended` denies calls of `files.peek`, whose class is `unknown`";
    assert!(refused.contains(words), "{refused}");
    let scope = Scope::parse(["files.peek"]).unwrap();
    let by_operator = vec![(scope, EffectClass::Read)];
    let classes = Classes::new(by_operator, std::collections::HashSet::new()).unwrap();
    let (result, error) = reads(classes).await;
    assert_eq!((result.is_some(), error), (true, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn search_and_describe_say_which_calls_ask_or_are_denied() {
    let mail = FakeServer::new("mail")
        .write("send", |_| json!(1))
        .write("delete", |_| json!(1))
        .read("list", |_| json!([]))
        .share();
    let of_bob = Rule {
        who: Some(vec!["user:bob".to_owned()]),
        ..rule("bob", Effect::Deny, "mail.*")
    };
    let large = (
        ArgumentPath::parse("count").unwrap(),
        Condition::from_value(&json!({ "gt": 100 })).unwrap(),
    );
    let rules = vec![
        rule("outside", Effect::Ask, "mail.send"),
        Rule {
            arguments: vec![large],
            ..rule("many", Effect::Deny, "mail.delete")
        },
        of_bob,
    ];
    let world = World::new(worker()).server(&mail);
    let gateway = world.policy(policy(rules, Preset::Observe)).start().await;
    let typescript = r#"
        const first = (signature: string) => signature.split("\n")[0];
        const listed = Object.fromEntries((await describe("mail")).tools.map((t: any) => [t.tool, first(t.signature)]));
        const hits = Object.fromEntries((await search("send")).map((t: any) => [t.tool, first(t.signature)]));
        const one = first((await describe("mail", "send")).signature);
        return [listed.send, listed.delete, listed.list.startsWith("//"), hits.send, one];
    "#;
    let python = r##"
first = lambda signature: signature.split("\n")[0]
listed = {tool["tool"]: first(tool["signature"]) for tool in describe("mail")["tools"]}
hits = {tool["tool"]: first(tool["signature"]) for tool in search("send")}
one = first(describe("mail", "send")["signature"])
return [listed["send"], listed["delete"], listed["list"].startswith("#"), hits["send"], one]
"##;
    for (sign, envelope) in [
        ("//", run(&gateway, typescript).await),
        ("#", run_python(&gateway, python).await),
    ] {
        let asks = format!("{sign} asks a person first (rule outside)");
        let denied = format!("{sign} denied for some arguments (rule many)");
        assert_eq!(
            value_of(&envelope),
            json!([asks, denied, false, asks, asks])
        );
    }
    let request = SearchRequest {
        queries: vec!["send".to_owned()],
        ..SearchRequest::default()
    };
    let text = gateway.search(&request).await.unwrap().text();
    assert!(
        text.contains(" · asks a person first (rule outside) · "),
        "{text}"
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_gives_one_answer_on_every_way_out() {
    let files = FakeServer::new("files")
        .write("erase", |_| json!(1))
        .read("peek", |_| json!(1))
        .resource("note:1", "one")
        .share();
    let rules = vec![
        rule("no-erase", Effect::Deny, "files.erase"),
        rule("no-notes", Effect::Deny, "files.resources/read"),
        rule("no-prompts", Effect::Deny, "files.prompts/*"),
    ];
    let world = World::new(worker()).server(&files);
    let gateway = world.policy(policy(rules, Preset::Observe)).start().await;
    let cancel = CancellationToken::new;
    let refusal = |refused: DirectError| match refused {
        DirectError::Call(error) => error.message,
        DirectError::Upstream(error) => panic!("{error}"),
    };
    let direct = |tool: &str| DirectCall {
        principal: LOCAL_PRINCIPAL.into(),
        tool: ToolId::new("files", tool),
        arguments: "{}".to_owned(),
    };
    let typescript = "try { await tools.files.erase({}) } catch (e: any) { return e.message }";
    let python =
        "try:\n    tools.files.erase()\nexcept ToolError as error:\n    return error.message";
    let of_typescript = value_of(&run(&gateway, typescript).await);
    let of_python = value_of(&run_python(&gateway, python).await);
    let of_user = gateway.call("files", "erase", "{}", cancel()).await;
    let of_client = gateway
        .call_directly(direct("erase"), cancel().into())
        .await;
    let expected = "`files.erase` is denied by rule `no-erase`: the reason";
    assert_eq!(of_typescript, json!(expected));
    assert_eq!(of_python, json!(expected));
    assert_eq!(of_user.err().unwrap().message, expected);
    assert_eq!(refusal(of_client.err().unwrap()), expected);
    for (method, params, expected) in [
        (
            ReadMethod::ReadResource,
            r#"{"uri":"note:1"}"#,
            "`files.resources/read` is denied by rule `no-notes`: the reason",
        ),
        (
            ReadMethod::GetPrompt,
            r#"{"name":"letter"}"#,
            "`files.prompts/get` is denied by rule `no-prompts`: the reason",
        ),
    ] {
        let read = gateway
            .read_directly(&"files".into(), method, params.to_owned(), cancel().into())
            .await;
        assert_eq!(refusal(read.err().unwrap()), expected);
    }
    assert_eq!(files.calls(), [""; 0]);
    // The controls: what no rule is about.
    let by_user = gateway.call("files", "peek", "{}", cancel()).await;
    let by_client = gateway.call_directly(direct("peek"), cancel().into()).await;
    assert!(by_user.is_ok() && by_client.is_ok());
    assert_eq!(files.calls(), ["peek", "peek"]);
    gateway.shutdown().await;
}
