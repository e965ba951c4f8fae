//! Warnings about parts that a program read of its results and its input, and about calls that it did not make.

use std::sync::Arc;

use limbeck_domain::{Envelope, ErrorKind};
use limbeck_gateway::Gateway;
use limbeck_testkit::{FakeServer, World, python_request, request, run, run_python, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Adds a tool that declares nothing and gives one text.
fn text(server: FakeServer, tool: &str, read_only: bool, text: &Value) -> FakeServer {
    let text = text
        .as_str()
        .map_or_else(|| text.to_string(), str::to_owned);
    server.tool(tool, Some(read_only), move |_| {
        let result = json!({"content": [{"type": "text", "text": text}]});
        Box::pin(async move { result })
    })
}

fn desk() -> Arc<FakeServer> {
    let tickets = json!({"tickets": [{"id": 1, "state": "open"}], "total": 1});
    let server = FakeServer::new("desk")
        .read("page", move |_| tickets.clone())
        .read("query", |_| json!({"result": [{"n": 1}], "rowCount": 1}))
        .read("either", |given| match given["kind"].as_str() {
            Some("file") => json!({"path": "a"}),
            _ => json!({"entries": []}),
        })
        .read("state", |_| json!({"state": "open"}))
        .declaring(
            json!({"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}}),
        );
    let server = text(server, "object", true, &json!({"tickets": [{"id": 1}]}));
    let server = text(server, "list", true, &json!([{"id": 1}, {"id": 2}]));
    text(server, "close", false, &json!("closed")).share()
}

async fn said(gateway: &Gateway, program: &str) -> String {
    run(gateway, program).await.warnings.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_no_result_has_is_a_warning_at_the_first_call_already() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    for (program, words) in [
        (
            "const r = await tools.desk.page({});\nreturn { n: r.total, list: r.tikcets }",
            "line 2: the result of `tools.desk.page` has no property `tikcets`",
        ),
        (
            "const r = await tools.desk.page({}); return ['titles', ...r.tickets.map(t => t.title)]",
            "`tickets[]` of the result of `tools.desk.page` has no property `title`",
        ),
        (
            "try { const r = await tools.desk.page({}); return `${r.count} tickets` } catch { return 'none' }",
            "has no property `count`",
        ),
        (
            "const r = await tools.desk.page({}); const n = (r.tikcets ?? []).length; return `there are ${n}`",
            "has no property `tikcets`",
        ),
        (
            "const rs = await Promise.all([1, 2].map(n => tools.desk.page({ n }))); return ['n', ...rs.map(r => r.count)]",
            "has no property `count`",
        ),
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(envelope.error, None, "{program}");
        let warnings = envelope.warnings.join("\n");
        assert!(warnings.contains(words), "{program}: {warnings}");
        assert!(warnings.contains("available properties"), "{warnings}");
    }
    // The controls: fields that are there, that the program provides for, or that are of another kind of result.
    for program in [
        "const r = await tools.desk.page({}); return r.tickets.map(t => t.id).concat(r.total)",
        "const r = await tools.desk.page({}); return [r.total, r.next ?? null, r.cursor?.at, 'more' in r]",
        "const r = await tools.desk.page({}); const { next = null } = r; return [r.total, next]",
        "const r = await tools.desk.page({}); if (r.error) return r.error.message; return r.tickets ?? r.items",
        "const rs = await Promise.all(['file', 'x'].map(kind => tools.desk.either({ kind }))); return rs.map(r => r.path ? r.path : r.entries)",
        "const r = await tools.desk.either({ kind: 'file' }); if (r.path) return r.path; return r.entries",
    ] {
        assert_eq!(said(&gateway, program).await, "", "{program}");
    }
    let python = run_python(
        &gateway,
        "r = tools.desk.page()\nn = r.get('tikcets', [])\nf'there are {len(n)}'",
    )
    .await;
    let warnings = python.warnings.join("\n");
    assert!(warnings.contains("has no property `tikcets`"), "{python:?}");
    for program in [
        "r = tools.desk.page()\n[r['total'], r.get('next'), r.get('error', 0)]",
        "r = tools.desk.page()\n['n', sum(t.get('hours', 0) for t in r['tickets'])]",
    ] {
        let envelope = run_python(&gateway, program).await;
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_json_that_is_taken_for_what_it_holds_is_a_warning() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    for program in [
        "const r = await tools.desk.object({}); return `${(r.tickets ?? []).length} tickets`",
        "const r = await tools.desk.object({}); return ['ids', r.tickets]",
        "const r = await tools.desk.list({}); let n = 0; for (const t of r) n++; return n",
        "return (await tools.desk.list({})).length",
        "const r = await tools.desk.list({}); return ['first', r[0]]",
    ] {
        let warnings = said(&gateway, program).await;
        assert!(
            warnings.contains("`JSON.parse(result)` gives"),
            "{program}: {warnings}"
        );
    }
    for program in [
        "len(tools.desk.list())",
        "r = tools.desk.list()\nn = 0\nfor t in r:\n    n += 1\nn",
        "r = tools.desk.list()\n['first', r[0]]",
    ] {
        let warnings = run_python(&gateway, program).await.warnings.join("\n");
        assert!(
            warnings.contains("`json.loads(result)` gives"),
            "{program}: {warnings}"
        );
    }
    // The controls: programs that know that it is a text.
    for program in [
        "const r = JSON.parse(await tools.desk.list({})); return [r.length, r[0].id]",
        "const r = await tools.desk.list({}); const rows = typeof r === 'string' ? JSON.parse(r) : r; return rows.length",
        "const r = await tools.desk.list({}); return [r.length, r.slice(0, 5)]",
        "const r = await tools.desk.object({}); return r",
    ] {
        assert_eq!(said(&gateway, program).await, "", "{program}");
    }
    let parsed = "import json\nrows = json.loads(tools.desk.list())\nlen(rows)";
    let parsed = run_python(&gateway, parsed).await;
    assert_eq!((value_of(&parsed), parsed.warnings.len()), (json!(2), 0));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_on_an_outcome_that_the_result_does_not_say_is_a_warning() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    for program in [
        "const r = await tools.desk.close({}); if (!r.success) return 'could not be closed'; return 'closed'",
        "const r = await tools.desk.close({}); return r.ok ? 'closed' : 'could not be closed'",
    ] {
        let warnings = said(&gateway, program).await;
        assert!(
            warnings.contains("before you make the call again"),
            "{program}: {warnings}"
        );
    }
    // The controls: a guard that its absence passes, and one that is not about success.
    for program in [
        "const r = await tools.desk.close({}); if (r.success === false) return 'could not be closed'; return 'closed'",
        "const r = await tools.desk.close({}); if (r.error) throw new Error(r.error); return 'closed'",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(value_of(&envelope), json!("closed"));
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_outside_of_a_declared_enum_is_a_warning_of_the_run() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    let compares = |text: &str| {
        format!(
            "const r = await tools.desk.state({{}}); return r.state === '{text}' ? 'is' : 'is not'"
        )
    };
    let warnings = said(&gateway, &compares("Open")).await;
    assert!(
        warnings.contains("`state` of the result of `tools.desk.state` is never \"Open\"; its values are \"open\", \"closed\""),
        "{warnings}"
    );
    let python = "r = tools.desk.state()\n'is' if r['state'] in ('done', 'finished') else 'is not'";
    let warnings = run_python(&gateway, python).await.warnings.join("\n");
    assert!(
        warnings.contains("is never \"done\", \"finished\""),
        "{warnings}"
    );
    // The control.
    assert_eq!(said(&gateway, &compares("closed")).await, "");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_was_sent_as_a_text_of_json_is_named_where_its_parts_are_read() {
    let gateway = World::new(worker()).start().await;
    let given = async |program: &str, input: &Value| -> Envelope {
        let request = limbeck_gateway::ExecuteRequest {
            input: input.to_string(),
            ..request(program)
        };
        gateway.execute(request, CancellationToken::new()).await
    };
    let text = json!(json!({"ids": [1, 2]}).to_string());
    let program = "return `${(input.ids ?? []).length} ids`";
    let warnings = given(program, &text).await.warnings.join("\n");
    assert!(
        warnings.contains("`JSON.parse(input)` gives what it holds"),
        "{warnings}"
    );
    // The controls: an object, and a program that parses.
    for (program, input) in [
        (program, json!({"ids": [1, 2]})),
        ("return `${JSON.parse(input).ids.length} ids`", text),
    ] {
        let envelope = given(program, &input).await;
        assert_eq!(value_of(&envelope), json!("2 ids"));
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    let mut python = python_request("n = 0\nfor one in input:\n    n += 1\nn");
    python.input = json!("[1, 2]").to_string();
    let envelope = gateway.execute(python, CancellationToken::new()).await;
    let warnings = envelope.warnings.join("\n");
    assert!(warnings.contains("`json.loads(input)`"), "{envelope:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_made_none_of_its_calls_is_warned_where_nothing_calls_its_function() {
    let desk = desk();
    let gateway = World::new(worker()).server(&desk).start().await;
    let idle = "const load = async () => tools.desk.page({});\nreturn 'loaded'";
    let warnings = said(&gateway, idle).await;
    assert!(
        warnings.contains("the call of a tool in line 1 was not made"),
        "{warnings}"
    );
    let python = "def load():\n    return tools.desk.page()\n'loaded'";
    let warnings = run_python(&gateway, python).await.warnings.join("\n");
    assert!(
        warnings.contains("the call of a tool in line 2 was not made"),
        "{warnings}"
    );
    // The control: a call in a branch that was not taken.
    let branch =
        "const ids = []; for (const id of ids) await tools.desk.page({ id }); return 'loaded'";
    assert_eq!(said(&gateway, branch).await, "");
    assert_eq!(desk.calls(), [""; 0]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_for_a_field_which_no_result_has_is_ended_with_a_warning_of_it() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    let waiting = |field: &str| {
        let typescript = format!(
            "for (;;) {{ const r = await tools.desk.page({{}}); if (r.{field} === 'done') return 1 }}"
        );
        let python = format!(
            "while True:\n    r = tools.desk.page()\n    if r.get('{field}') == 'done':\n        break"
        );
        [request(&typescript), python_request(&python)]
    };
    for mut endless in waiting("state") {
        endless.timeout_ms = Some(1_500);
        let envelope = gateway.execute(endless, CancellationToken::new()).await;
        let kind = envelope.error.as_ref().unwrap().kind;
        assert!(
            matches!(kind, ErrorKind::Timeout | ErrorKind::CallLimit),
            "{kind:?}"
        );
        let warnings = envelope.warnings.join("\n");
        assert!(warnings.contains("has no property `state`"), "{envelope:?}");
    }
    // The control: a field that is there and has another value.
    for mut endless in waiting("total") {
        endless.timeout_ms = Some(1_500);
        let envelope = gateway.execute(endless, CancellationToken::new()).await;
        assert!(envelope.error.is_some());
        let warnings = envelope.warnings.join("\n");
        assert!(!warnings.contains("has no property"), "{envelope:?}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn right_programs_that_provide_for_several_forms_have_no_warning() {
    let gateway = World::new(worker()).server(&desk()).start().await;
    for program in [
        "const r = await tools.desk.object({}); const d = typeof r === 'string' ? JSON.parse(r) : r; return d.tickets.map(t => t.id)",
        "const r = await tools.desk.page({}); const d = typeof r === 'string' ? JSON.parse(r) : r; return d.tickets.map(t => t.id)",
        "const r = await tools.desk.query({}); return r.result.map(x => x.n)",
        "const unwrap = r => r?.structuredContent ?? (r?.content?.[0]?.text ? JSON.parse(r.content[0].text) : r); return unwrap(await tools.desk.page({})).tickets.length",
        "const r = await tools.desk.close({}); return typeof r === 'string' ? r : r.content.map(c => c.text).join('')",
        "const r = await tools.desk.page({}); if (r.isError) throw new Error('failed'); return r.total",
        "const want = 'all'; const r = await tools.desk.state({}); return want === 'all' || r.state === want",
        "const r = await tools.desk.state({}); switch (r.state) { case 'open': return 1; case 'merged': return 2; default: return 3 }",
        "let n = 0; while (true) { await tools.desk.close({}); if (++n > 1) return n }",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(envelope.error, None, "{program}");
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    for program in [
        "import json\nr = tools.desk.object()\nd = json.loads(r) if isinstance(r, str) else r\n[t['id'] for t in d['tickets']]",
        "r = tools.desk.close()\nr['content'][0]['text'] if isinstance(r, dict) else r",
        "r = tools.desk.query()\n[x['n'] for x in r['result']]",
    ] {
        let envelope = run_python(&gateway, program).await;
        assert_eq!(envelope.error, None, "{program}");
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    // The same forms where the parts are not there.
    for (program, words) in [
        (
            "const d = JSON.parse(await tools.desk.object({})); return ['n', ...d.tickets.map(t => t.number)]",
            "has no property `number`",
        ),
        (
            "const all = []; for (const n of [1, 2]) { const r = await tools.desk.page({ n }); all.push(...r.tickets) } return ['t', ...all.map(t => t.title)]",
            "has no property `title`",
        ),
        (
            "const r = await tools.desk.query({}); return ['rows', r.content?.[0]?.text]",
            "the value is unwrapped already",
        ),
        (
            "const r = await tools.desk.close({}); return r.content[0].text",
            "the value is unwrapped already",
        ),
        (
            "const r = await tools.desk.page({}); for (const t in r.tickets) console.log(t.id)",
            "write `for (const t of …)`",
        ),
    ] {
        let warnings = said(&gateway, program).await;
        assert!(warnings.contains(words), "{program}: {warnings}");
    }
    gateway.shutdown().await;
}
