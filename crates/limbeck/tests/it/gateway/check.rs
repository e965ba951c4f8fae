//! The check of programs before they run, and the modes `check` and `plan`.

use limbeck_catalog::FindingKind;
use limbeck_domain::{ErrorKind, Mode};
use limbeck_gateway::Gateway;
use limbeck_policy::Scope;
use limbeck_testkit::{FakeServer, World, python_request, request, run, run_python, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::random::server;
use crate::gateway::worker;

async fn examine(gateway: &Gateway, program: &str, mode: Mode) -> limbeck_gateway::Examination {
    let cancel = CancellationToken::new();
    let examined = gateway.examine(request(program), mode, &cancel).await;
    examined.unwrap_or_else(|error| panic!("{program}: {error:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typescript_program_that_does_not_fit_its_tools_ends_before_its_first_call() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let fits = run(&gateway, "await tools.t.echo({ n: 1 }); return 1").await;
    assert_eq!(value_of(&fits), json!(1));
    assert_eq!(t.calls(), ["echo"]);
    let wrong = "await tools.t.echo({ n: 1 });\nconst r = await tools.t.ehco({ n: 2 });\nreturn r";
    let envelope = run(&gateway, wrong).await;
    let error = envelope.error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Contract, "{error:?}");
    assert_eq!((error.line, error.column), (Some(2), Some(17)));
    assert!(error.message.contains("`ehco`"), "{error:?}");
    assert!(
        error.hint.as_ref().unwrap().contains("tools.t.echo"),
        "{error:?}"
    );
    assert_eq!(t.calls(), ["echo"], "nothing was called");
    let caught = "try { await tools.t.ehco({}) } catch (e) { return e.code }";
    assert_eq!(
        value_of(&run(&gateway, caught).await),
        json!("unknown_tool")
    );

    for id in [&fits.execution_id, &envelope.execution_id] {
        let report = gateway.replay(id.as_str()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_examination_tells_findings_and_plan_and_leaves_nothing_behind() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let right = "const r = await tools.t.echo({ n: 1 });\nfor (const x of [1, 2]) await tools.t.slow({ ms: r.n });";
    let checked = examine(&gateway, right, Mode::Check).await;
    assert!(checked.ok, "{checked:?}");
    assert_eq!(checked.plan, None);
    let planned = examine(&gateway, right, Mode::Plan).await;
    let plan = planned.plan.unwrap();
    let calls: Vec<_> = plan
        .calls
        .iter()
        .map(|call| (call.tool.as_str(), call.times.as_str()))
        .collect();
    assert_eq!(calls, [("t.echo", "once"), ("t.slow", "at most 2")]);

    let wrong = examine(
        &gateway,
        "try { await tools.t.nope({}) } catch {}\nawait tools.t.ehco({})",
        Mode::Check,
    )
    .await;
    let kinds = |findings: &[limbeck_catalog::Finding]| -> Vec<_> {
        findings
            .iter()
            .map(|finding| (finding.line, finding.kind))
            .collect()
    };
    assert!(!wrong.ok);
    assert_eq!(
        kinds(&wrong.findings.errors),
        [(2, FindingKind::UnknownTool)]
    );
    assert_eq!(
        kinds(&wrong.findings.warnings),
        [(1, FindingKind::UnknownTool)]
    );
    let syntax = examine(&gateway, "\nconst a = ;", Mode::Check).await;
    assert_eq!(kinds(&syntax.findings.errors), [(2, FindingKind::Syntax)]);
    let python = examine(&gateway, "import json\ntools.t.ehco(n=1)", Mode::Check).await;
    assert_eq!(
        kinds(&python.findings.errors),
        [(2, FindingKind::UnknownTool)]
    );
    let warning = &python.findings.warnings[0].message;
    assert!(warning.contains("so it was checked as that"), "{warning}");

    let cancel = CancellationToken::new();
    let program = python_request("x = tools.t.echo(n=1)\ntools.t.ehco(n=x)");
    let examined = gateway
        .examine(program, Mode::Check, &cancel)
        .await
        .unwrap();
    assert_eq!(
        kinds(&examined.findings.errors),
        [(2, FindingKind::UnknownTool)]
    );

    assert_eq!(t.calls(), Vec::<String>::new());
    let recorded = gateway.store().executions(10, None).await.unwrap();
    assert_eq!(recorded.len(), 0, "nothing is recorded");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_of_tools_that_matches_no_tool_of_a_listed_server_is_a_warning() {
    let t = server();
    let gateway = World::new(worker()).server(&t).silent("late").start().await;
    let mut narrow = request("return await tools.t.echo({ n: 1 })");
    narrow.scope = Scope::parse(["t.echo", "nope", "t.ehco", "late.any"]).unwrap();
    let narrow = gateway.execute(narrow, CancellationToken::new()).await;
    let warnings = narrow.warnings.join("\n");
    assert!(
        warnings.contains("no tool matches `nope`, `t.ehco`;"),
        "{warnings}"
    );
    // The controls: patterns that match, or may match a tool of a server that was never listed, cause no warning.
    assert_eq!(value_of(&narrow), json!({"n": 1}));
    let mut wide = request("return await tools.t.echo({ n: 1 })");
    wide.scope = Scope::parse(["t.*", "late.any"]).unwrap();
    let wide = gateway.execute(wide, CancellationToken::new()).await;
    assert_eq!(wide.warnings, [""; 0]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_that_is_the_full_name_of_two_tools_is_refused() {
    let a = FakeServer::new("a")
        .read("b__c", |_| json!({"n": 1}))
        .share();
    let a_b = FakeServer::new("a__b")
        .read("c", |_| json!({"n": 2}))
        .share();
    let both = World::new(worker()).server(&a).server(&a_b).start().await;
    let program = "return [await tools.a.b__c({})]";
    let within = |pattern: &str| {
        let mut narrow = request(program);
        narrow.scope = Scope::parse([pattern]).unwrap();
        narrow
    };
    let cancel = CancellationToken::new();
    let refused = both.execute(within("mcp__a__b__c"), cancel.clone()).await;
    let error = refused.error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Request, "{error:?}");
    for named in ["`mcp__a__b__c`", "`a.b__c`", "`a__b.c`"] {
        assert!(error.message.contains(named), "{error:?}");
    }
    let examined = both.examine(within("mcp__a__b__c"), Mode::Check, &cancel);
    assert_eq!(examined.await.unwrap_err().kind, ErrorKind::Request);
    assert_eq!(a.calls(), [""; 0]);
    // The controls: the exact name, a pattern with a wildcard, and the full name where one tool has it.
    for pattern in ["a.b__c", "mcp__a__b__*"] {
        let exact = both.execute(within(pattern), cancel.clone()).await;
        assert_eq!(value_of(&exact), json!([{"n": 1}]), "{exact:?}");
    }
    both.shutdown().await;
    let one = World::new(worker()).server(&a).start().await;
    let fits = one.execute(within("mcp__a__b__c"), cancel.clone()).await;
    assert_eq!(value_of(&fits), json!([{"n": 1}]), "{fits:?}");
    one.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_value_is_explained_by_properties_that_its_results_do_not_have() {
    let t = FakeServer::new("t")
        .read("list", |_| json!({"items": [{"total_cents": 5}]}))
        .declaring(json!({"type": "object", "properties": {"items": {"type": "array", "items": {
            "type": "object", "properties": {"total_cents": {"type": "integer"}}, "required": ["total_cents"],
        }}}, "required": ["items"]}))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let program = |read: &str| {
        format!(
            "const r = await tools.t.list({{}}); let sum = 0; for (const o of r.items) sum += o.{read}; return sum"
        )
    };
    let empty = run(&gateway, &program("amount")).await;
    let warnings = empty.warnings.join("\n");
    assert!(warnings.contains("has no property `amount`"), "{warnings}");
    // The controls: a property that is there, and a value that says something.
    let full = run(&gateway, &program("total_cents")).await;
    assert_eq!((value_of(&full), full.warnings.len()), (json!(5), 0));
    // A property for whose absence the program provides is no news beside a value that says something.
    let said = run(
        &gateway,
        "const r = await tools.t.list({}); return [r.items.map(o => o.amount ?? 0), 'none']",
    )
    .await;
    assert_eq!(said.warnings, [""; 0]);
    // Reads in functions, and those that provide for a property that is not there.
    let read_in = async |rest: &str| {
        let program = format!("const r = await tools.t.list({{}}); {rest}");
        run(&gateway, &program).await.warnings.join("\n")
    };
    for rest in [
        "return r.items.reduce((sum, o) => sum + o.amount, 0)",
        "return Object.entries(r.items).map(([k, v]) => v.amount)",
        "const amount = o => o.amount; return r.items.map(amount)",
        "const [first] = r.items; return first.amount ?? 0",
    ] {
        let said = read_in(rest).await;
        assert!(said.contains("has no property `amount`"), "{rest}: {said}");
    }
    let python = run_python(
        &gateway,
        "r = tools.t.list()\nsum(o.get('amount', 0) for o in r['items'])",
    )
    .await;
    let said = python.warnings.join("\n");
    assert!(said.contains("has no property `amount`"), "{python:?}");
    // A field that is not there is no value.
    let said = read_in("return r.length").await;
    assert!(said.contains("has no property `length`"), "{said}");
    let said = read_in("console.log(r.length ?? 'none')").await;
    assert_eq!(said, "");
    // The control: what the items have.
    let said = read_in("return r.items.reduce((sum, o) => sum + o.total_cents, 0)").await;
    assert_eq!(said, "");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_value_that_is_empty_is_not_explained_by_what_the_program_asks_for_or_makes() {
    let t = FakeServer::new("t")
        .read("list", |_| json!({"items": [], "content": "none"}))
        .declaring(json!({"type": "object", "properties": {"content": {"type": "string"},
            "items": {"type": "array", "items": {"type": "object", "properties": {"total_cents": {"type": "integer"}}}}},
            "required": ["items"]}))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    for rest in [
        "return r.orders ?? r.items ?? r.data",
        "const list = r.items ?? r; return list",
        "if (r.error) throw new Error(r.error.message ?? ''); return r.items",
        "for (const o of r.items) o.total = o.total_cents / 100; return r.items.map(o => o.total)",
        "if ('vat_id' in r) return 1; return r.items",
    ] {
        let program = format!("const r = await tools.t.list({{}}); {rest}");
        let envelope = run(&gateway, &program).await;
        assert_eq!(value_of(&envelope), json!([]), "{rest}: {envelope:?}");
        assert_eq!(envelope.warnings, [""; 0], "{rest}");
    }
    for rest in [
        "[1] if 'Atlantis' in r['content'] else []",
        "r.get('orders') or r.get('items')",
        "r['orders'] = []\nr['orders']",
    ] {
        let program = format!("r = tools.t.list()\n{rest}");
        let envelope = run_python(&gateway, &program).await;
        assert_eq!(value_of(&envelope), json!([]), "{rest}: {envelope:?}");
        let said = envelope.warnings.join("\n");
        assert!(!said.contains("has no property"), "{rest}: {said}");
    }
    // The control: no alternative is there.
    let wrong = "const r = await tools.t.list({}); return r.orders ?? r.data ?? []";
    let said = run(&gateway, wrong).await.warnings.join("\n");
    assert!(said.contains("has no property `orders`"), "{said}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_property_that_the_program_asks_for_is_no_error_where_no_result_has_it() {
    let t = FakeServer::new("t")
        .read("get", |_| json!({"name": "n"}))
        .declaring(
            json!({"type": "object", "properties": {"name": {"type": "string"}},
            "required": ["name"], "additionalProperties": false}),
        )
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    for program in [
        "const r = await tools.t.get({}); return r.title ?? r.name",
        "const r = await tools.t.get({}); if ('title' in r) return r.title; return r.name",
        "const r = await tools.t.get({}); if (r.title) return r.title.length; return r.name",
        "const r = await tools.t.get({}); return 'name' in r ? r.name : r.title",
        "const r = await tools.t.get({}); const rs = [r]; const all = [...rs]; all.push({ title: 'n' }); return all.at(-1).title",
        "const r = await tools.t.get({}); Reflect.set(r, 'title', r.name); return r.title",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(value_of(&envelope), json!("n"), "{program}");
    }
    for program in [
        "r = tools.t.get()\nr.get('title') or r['name']",
        "r = tools.t.get()\nr['title'] if 'title' in r else r['name']",
        "r = tools.t.get()\nr['name'] if 'name' in r else r['title']",
        "r = tools.t.get()\nr.title if hasattr(r, 'title') else r.name",
        "import contextlib\nr = tools.t.get()\nn = r['name']\nwith contextlib.suppress(KeyError):\n    n = r['title']\nn",
    ] {
        let envelope = run_python(&gateway, program).await;
        assert_eq!(value_of(&envelope), json!("n"), "{program}");
    }
    // The control: it is read as if it were there.
    let wrong = run(&gateway, "const r = await tools.t.get({}); return r.title").await;
    assert_eq!(wrong.error.unwrap().kind, ErrorKind::Contract);
    gateway.shutdown().await;
}

/// Hidden calls of `t.echo`. Some ways of one language may be closed; what matters is that no call leaves the plan.
const HIDDEN_IN_TYPESCRIPT: &[&str] = &[
    "const t = tools; await t.t.echo({ n: 1 })",
    "const go = (x) => x.t.echo({ n: 1 }); await go(tools)",
    "const { t: { echo } } = tools; await [echo][0]({ n: 1 })",
    "await eval('tools').t.echo({ n: 1 })",
    "await new Function('return tools')().t.echo({ n: 1 })",
    "await (() => {})['constr' + 'uctor']('return tools')().t.echo({ n: 1 })",
    "await globalThis['to' + 'ols'].t.echo({ n: 1 })",
    "await globalThis.eval('tools').t.echo({ n: 1 })",
    "await t\\u006fols.t.echo({ n: 1 })",
    "await tools.t['ec' + 'ho']({ n: 1 })",
    "await tools.t.echo.call(null, { n: 1 })",
    "await Object.values({ a: tools })[0].t.echo({ n: 1 })",
    "class A { t = tools.t } await new A().t.echo({ n: 1 })",
    "function* all() { yield tools.t } for (const t of all()) await t.echo({ n: 1 })",
    "return await ((s, t) => t)`${tools}`.t.echo({ n: 1 })",
];
const HIDDEN_IN_PYTHON: &[&str] = &[
    "t = tools\nt.t.echo(n=1)",
    "def go(x):\n    return x.t.echo(n=1)\ngo(tools)",
    "getattr(getattr(tools, 't'), 'ec' + 'ho')(n=1)",
    "eval('tools').t.echo(n=1)",
    "exec('tools.t.echo(n=1)')",
    "[eval][0]('tools').t.echo(n=1)",
    "globals()['tools'].t.echo(n=1)",
    "vars()['tools'].t.echo(n=1)",
    "__import__('tools').t.echo(n=1)",
    "import importlib\nimportlib.import_module('tools').t.echo(n=1)",
    "(lambda: tools)().t.echo(n=1)",
    "def unused(tools):\n    pass\ntools.t.echo(n=1)",
    "class A:\n    t = tools.t\nA.t.echo(n=1)",
    "type(tools)().t.echo(n=1)",
    "[f(n=1) for f in [tools.t.echo]]",
    "list(map(tools.t.echo, [{'n': 1}]))",
    "import json\njson.codecs.builtins.eval('1')",
    "echoing()",
    "f = echoing\nf()",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_call_that_a_program_makes_is_in_its_plan_or_its_plan_has_an_unknown() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let saved = "@save_tool\ndef echoing():\n    return tools.t.echo(n=1)";
    run_python(&gateway, saved).await;
    let typescript = HIDDEN_IN_TYPESCRIPT.iter().map(|text| request(text));
    let python = HIDDEN_IN_PYTHON.iter().map(|text| python_request(text));
    // The parser of the analysis refuses it, and the guest does not.
    let unread = format!("x = '{}'\ntools.t.echo(n=1)", "(".repeat(201));
    let mut calling = 0;
    for request in typescript.chain(python).chain([python_request(&unread)]) {
        let program = request.program.clone();
        let cancel = CancellationToken::new();
        let plan = gateway.examine(request.clone(), Mode::Plan, &cancel).await;
        let plan = plan.unwrap().plan.unwrap_or_default();
        let before = t.calls().len();
        gateway.execute(request, cancel).await;
        let made = t.calls().len() - before;
        calling += usize::from(made > 0);
        let is_listed = plan.calls.iter().any(|call| call.tool == "t.echo");
        assert!(
            made == 0 || is_listed || plan.unknown_total > 0,
            "{program}: {plan:?}"
        );
    }
    // The control: most of the programs do call the tool.
    assert!(calling > 20, "{calling}");
    let ordinary = examine(&gateway, "return await tools.t.echo({ n: 1 })", Mode::Plan).await;
    assert_eq!(ordinary.plan.unwrap().unknown_total, 0);
    gateway.shutdown().await;
}
