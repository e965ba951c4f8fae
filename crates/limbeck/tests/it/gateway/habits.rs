//! Programs that end without a word elsewhere, and the words that the answer has for them here.

use limbeck_domain::{Envelope, Language};
use limbeck_gateway::ExecuteRequest;
use limbeck_policy::Scope;
use limbeck_testkit::{FakeServer, World, request, run, run_python, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

fn warned(envelope: &Envelope, words: &str) -> bool {
    envelope
        .warnings
        .iter()
        .any(|warning| warning.contains(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_made_calls_and_shows_nothing_of_them_has_a_warning() {
    let t = FakeServer::new("t").read("n", |_| Value::from(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    for program in [
        "const r = await tools.t.n({});",
        "const r = await tools.t.n({}); return r.text",
    ] {
        let envelope = run(&gateway, program).await;
        assert!(
            warned(
                &envelope,
                "made 1 call, returned no value and printed nothing"
            ),
            "{envelope:?}"
        );
    }
    assert!(warned(
        &run_python(&gateway, "x = tools.t.n()").await,
        "returned no value"
    ));
    for program in [
        "return await tools.t.n({})",
        // The value of the last expression is returned.
        "await tools.t.n({})",
        "console.log(await tools.t.n({}))",
        "await tools.t.n({}); await emit('x')",
        "await tools.t.n({}); return null",
        "const quiet = 1",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(envelope.warnings, Vec::<String>::new(), "{program}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_were_not_awaited_are_counted_and_their_results_are_used() {
    let t = FakeServer::new("t").read("n", |_| Value::from(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    let left = run(
        &gateway,
        "const out = []; [1, 2].forEach(async () => { out.push(await tools.t.n({})) }); return out",
    )
    .await;
    assert!(
        warned(&left, "2 calls were answered after the `return` (`t.n`)"),
        "{left:?}"
    );
    assert_eq!(value_of(&left), json!([1, 1]));
    let awaited = run(
        &gateway,
        "const out = []; for (const i of [1, 2]) out.push(await tools.t.n({})); return out",
    )
    .await;
    assert_eq!(
        (value_of(&awaited), awaited.warnings),
        (json!([1, 1]), Vec::new())
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_function_reaches_its_server_in_a_program_that_names_none() {
    let t = FakeServer::new("t").read("n", |_| Value::from(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    let save =
        "async def count():\n    return (await mcp_t.n())['structuredContent']\nsave_tool(count)";
    assert_eq!(run_python(&gateway, save).await.error, None);

    let used = run_python(&gateway, "await count()").await;

    assert_eq!(value_of(&used), json!(1));
    assert_eq!(t.calls(), ["n"]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_much_printed_text_the_beginning_and_the_end_are_kept() {
    let gateway = World::new(worker()).start().await;
    for (program, language) in [
        (
            "console.log('x'.repeat(30000)); for (let i = 0; i < 30000; i++) console.log('line ' + i)",
            Language::Typescript,
        ),
        (
            "print('x' * 30000)\nfor i in range(30000):\n    print('line', i)",
            Language::Python,
        ),
    ] {
        let request = ExecuteRequest {
            language,
            ..request(program)
        };
        let envelope = gateway.execute(request, CancellationToken::new()).await;
        let record = gateway
            .store()
            .execution(envelope.execution_id.as_str())
            .await
            .unwrap()
            .unwrap();
        let stdout = record.envelope.unwrap().stdout;
        assert!(
            stdout.starts_with(&format!("{}\nline 0\n", "x".repeat(30_000))),
            "{language:?}"
        );
        assert!(stdout.ends_with("line 29998\nline 29999\n"), "{language:?}");
        assert!(stdout.contains(" lines left out ("), "{language:?}");
        assert!(
            warned(&envelope, "left out between its beginning and its end"),
            "{envelope:?}"
        );
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_the_other_language_is_run_as_that() {
    let t = FakeServer::new("t").read("n", |_| Value::from(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    for (program, language) in [
        (
            "import json\nreturn json.dumps({'n': tools.t.n()})",
            Language::Typescript,
        ),
        (
            "r = await tools.t.n(a=1)\nreturn str(r)",
            Language::Typescript,
        ),
        (
            "const r = await tools.t.n({});\nreturn `${r}`;",
            Language::Python,
        ),
    ] {
        let request = ExecuteRequest {
            language,
            ..request(program)
        };
        let envelope = gateway.execute(request, CancellationToken::new()).await;
        assert!(envelope.error.is_none(), "{program}: {envelope:?}");
        assert!(warned(&envelope, "so it was run as that"), "{envelope:?}");
        // The execution of the answer is the one that ran, and it replays.
        let report = gateway
            .replay(envelope.execution_id.as_str())
            .await
            .unwrap();
        assert_eq!(report.differences, Vec::<String>::new(), "{program}");
    }
    assert_eq!(t.calls().len(), 3);
    for (program, language) in [
        ("const a = {;", Language::Typescript),
        ("if True:\nprint(1)", Language::Python),
    ] {
        let request = ExecuteRequest {
            language,
            ..request(program)
        };
        let envelope = gateway.execute(request, CancellationToken::new()).await;
        assert!(!warned(&envelope, "so it was run as that"), "{envelope:?}");
        assert_eq!(
            envelope.error.unwrap().kind,
            limbeck_domain::ErrorKind::Syntax
        );
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_learns_nothing_of_servers_outside_of_its_scope() {
    let open = FakeServer::new("open")
        .read("n", |_| Value::from(1))
        .share();
    let vault = FakeServer::new("vault")
        .read("read_secret", |_| Value::from(1))
        .share();
    let gateway = World::new(worker())
        .server(&open)
        .server(&vault)
        .start()
        .await;
    let program = r#"
        const described = async (server: string) => {
            try { return JSON.stringify(await describe(server)); }
            catch (e: any) { return JSON.stringify([e.code, e.message, e.hint, e.server]).replaceAll(server, "NAME"); }
        };
        const read = async (server: string) => {
            try { return await (servers as any)[server].resources.list(); }
            catch (e: any) { return JSON.stringify([e.code, e.message, e.hint, e.server]).replaceAll(server, "NAME"); }
        };
        const listed = JSON.stringify([Object.keys(tools), Object.keys(servers), await servers(), await listServers(), await search("secret")]);
        return [listed, await described("vault"), await described("nosuch"), await read("Vault"), await read("Nosuch")];
    "#;
    let wide = value_of(&run(&gateway, program).await);
    // The controls: without a scope the server is listed and differs from one that does not exist.
    assert!(wide[0].as_str().unwrap().contains("vault"), "{wide}");
    assert!(wide[1].as_str().unwrap().contains("read_secret"), "{wide}");
    assert!(
        wide[2].as_str().unwrap().contains("unknown_server"),
        "{wide}"
    );
    assert_eq!(wide[3], json!([]));
    let narrow = ExecuteRequest {
        scope: Scope::parse(["open.*"]).unwrap(),
        ..request(program)
    };
    let narrow = gateway.execute(narrow, CancellationToken::new()).await;
    let narrow = value_of(&narrow);
    let listed = narrow[0].as_str().unwrap();
    assert!(
        listed.contains("open") && !listed.contains("vault"),
        "{listed}"
    );
    for (there, absent) in [(1, 2), (3, 4)] {
        assert!(
            narrow[there].as_str().unwrap().contains("denied"),
            "{narrow}"
        );
        assert_eq!(narrow[there], narrow[absent]);
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_outside_of_the_scope_looks_the_same_whether_it_exists_or_not() {
    let open = FakeServer::new("open")
        .read("n", |_| Value::from(1))
        .share();
    let vault = FakeServer::new("vault")
        .read("read_secret", |_| Value::from(1))
        .share();
    let gateway = World::new(worker())
        .server(&open)
        .server(&vault)
        .start()
        .await;
    let within = async |scope: Scope, program: &str| {
        let narrow = ExecuteRequest {
            scope,
            ..request(program)
        };
        gateway.execute(narrow, CancellationToken::new()).await
    };
    // Each error without the name that was asked for.
    let program = r#"
        const said = async (name: string, f: () => unknown) => {
            try { return ["done", await f()]; } catch (e: any) {
                const without = (text: any) => String(text).replaceAll(name, "NAME");
                return [e.code, without(e.message), e.hint, without(e.server), without(e.tool)];
            }
        };
        const out: any = {};
        for (const tool of ["read_secret", "readSecret", "read_nothing"]) {
            out[`vault.${tool}`] = await said(tool, () => (tools as any).vault[tool]({}));
            out[`full ${tool}`] = await said(tool, () => callMCPTool(`mcp__vault__${tool}`, {}));
            out[`bare ${tool}`] = await said(tool, () => callMCPTool(tool, {}));
            out[`described ${tool}`] = await said(tool, () => describe("vault", tool));
        }
        return out
    "#;
    let wide = value_of(&within(Scope::everything(), program).await);
    // The controls: in the wide scope they differ.
    assert_eq!(wide["vault.read_secret"], json!(["done", 1]));
    assert_eq!(wide["vault.readSecret"], json!(["done", 1]));
    assert_eq!(wide["vault.read_nothing"][0], "unknown_tool");
    let calls = vault.calls().len();
    let narrow = value_of(&within(Scope::parse(["open.*"]).unwrap(), program).await);
    for form in ["vault.", "full ", "bare ", "described "] {
        let said = |tool: &str| &narrow[format!("{form}{tool}")];
        assert_eq!(said("read_secret")[0], "denied", "{narrow}");
        assert_eq!(said("read_secret"), said("read_nothing"), "{form}");
        assert_eq!(said("readSecret"), said("read_nothing"), "{form}");
    }
    assert_eq!(vault.calls().len(), calls);
    // The check before the run says the same of all three, and of a server that does not exist.
    let mut found = Vec::new();
    for (server, tool) in [
        ("vault", "read_secret"),
        ("vault", "readSecret"),
        ("vault", "read_nothing"),
        ("nosuch", "read_secret"),
    ] {
        let program = format!("return await tools.{server}.{tool}({{}})");
        let error = within(Scope::parse(["open.*"]).unwrap(), &program).await;
        let mut error = error.error.unwrap();
        error.message = error.message.replace(&format!("{server}.{tool}"), "NAME");
        found.push(error);
    }
    assert!(found.iter().all(|error| *error == found[0]), "{found:?}");
    // Within the scope an unknown name is distinguished from a known one.
    let unknown = within(
        Scope::parse(["open.*"]).unwrap(),
        "return await tools.open.m({})",
    )
    .await;
    let unknown = unknown.error.unwrap();
    assert!(unknown.message.contains("has no tool `m`"), "{unknown:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_returned_text_stays_text_and_is_shown_up_to_the_budget() {
    let gateway = World::new(worker()).start().await;
    let program =
        "return Array.from({ length: 6000 }, (_, i) => `line ${i} lorem ipsum dolor`).join('\\n')";
    let envelope = run(&gateway, program).await;
    let shown = value_of(&envelope);
    let shown = shown.as_str().unwrap();
    assert!(
        shown.starts_with("line 0 ") && shown.ends_with("line 5999 lorem ipsum dolor"),
        "{shown}"
    );
    assert!(shown.len() > 15_000, "{}", shown.len());
    let id = envelope.artifacts[0].id.as_ref().unwrap().to_string();
    let read = format!(
        "const a = artifacts.open('{id}'); let lines = 0; for await (const line of a) lines += 1;\n\
         return [lines, (await a.text()).slice(0, 8), (await a.info()).mimeType]"
    );
    let read = value_of(&run(&gateway, &read).await);
    assert_eq!((&read[0], &read[1]), (&json!(6000), &json!("line 0 l")));
    assert!(read[2].as_str().unwrap().starts_with("text/"), "{read}");
    let rows = run(
        &gateway,
        "return Array.from({ length: 5000 }, (_, id) => ({ id, name: `row ${id}` }))",
    )
    .await;
    let sample = rows.artifacts[0].sample.as_ref().unwrap().get();
    assert!(sample.len() > 5_000, "{}", sample.len());
    gateway.shutdown().await;
}
