//! Programs that call one tool in ways that are more and more hidden. By their construction all of them make the call, so each
//! must list it, or have a place where any tool may be called.

use limbeck_domain::Sites;
use proptest::prelude::*;

use super::prepare;

/// Expressions whose value is `tools`.
const ROOTS: &[&str] = &[
    "tools",
    "globalThis.tools",
    "globalThis['tools']",
    "globalThis['to' + 'ols']",
    "globalThis.globalThis.tools",
    "globalThis.eval('tools')",
    "eval('tools')",
    "(0, eval)('tools')",
    "new Function('return tools')()",
    "(() => {}).constructor('return tools')()",
    "(() => {})['constr' + 'uctor']('return tools')()",
    "(() => {})[['constr', 'uctor'].join('')]('return tools')()",
    "Reflect.get(() => {}, ['constr', 'uctor'].join(''))('return tools')()",
    "t\\u006fols",
];
/// Statements that do not change what `tools` is where the program uses it.
const PREFIXES: &[&str] = &[
    "",
    "function unused(tools) { return tools }\n",
    "{ const tools = 1; void tools }\n",
    "const describe = (t) => t;\n",
    "class Unused { tools = 1 }\n",
];
/// Expressions with the value of `§`.
const WRAPPERS: &[&str] = &[
    "(§)",
    "(§ as any)",
    "[§][0]",
    "({ k: § }).k",
    "(0, §)",
    "(§ ?? null)",
    "(true && §)",
    "(true ? § : null)",
    "((t) => t)(§)",
    "((t = §) => t)()",
    "(() => §)()",
    "(() => { return § })()",
    "(function (t) { return t })(§)",
    "((...all) => all[0])(...[§])",
    "[...[§]][0]",
    "[§].map((t) => t)[0]",
    "[§].at(0)",
    "(await (async () => §)())",
    "(await Promise.resolve([§]))[0]",
    "(function* () { yield § })().next().value",
    "new (class { t; constructor(t) { this.t = t } })(§).t",
    "new Map([['k', §]]).get('k')",
    "Object.values({ k: § })[0]",
    "Object.freeze([§])[0]",
    "Reflect.get({ k: § }, 'k')",
    "((s, t) => t)`${§}`",
];
/// Statements that give `v#` the value of `§`.
const BINDINGS: &[&str] = &[
    "const v# = §;\n",
    "let v# = §;\n",
    "var v# = §;\n",
    "let v#; v# = §;\n",
    "const { k: v# } = { k: § };\n",
    "const [v#] = [§];\n",
    "const { k: v# = § } = {};\n",
    "const a# = §; const b# = a#; const v# = b#;\n",
    "function f#(t = §) { return t }\nconst v# = f#();\n",
    "class C# { static t = § }\nconst v# = C#.t;\n",
    "class C# { get t() { return § } }\nconst v# = new C#().t;\n",
    "const o# = { get t() { return § } };\nconst v# = o#.t;\n",
    "let v#; for (const t of [§]) v# = t;\n",
    "let v#; try { throw [§] } catch (e) { v# = e[0] }\n",
    "const h# = (t) => () => t;\nconst v# = h#(§)();\n",
    "const l# = []; l#.push(§); const v# = l#[0];\n",
    "const v# = await new Promise((done) => done([§])).then((t) => t[0]);\n",
    "let v#; switch (1) { case 1: v# = § }\n",
];
/// Expressions with the member `NAME` of `§`.
const MEMBERS: &[&str] = &[
    "§.NAME",
    "§?.NAME",
    "§['NAME']",
    "§[['NAME'].join('')]",
    "(({ NAME: m }) => m)(§)",
];
/// Statements that call `§`.
const CALLS: &[&str] = &[
    "§({ id: 1 });\n",
    "await §({ id: 1 });\n",
    "await §?.({ id: 1 });\n",
    "§(...[{ id: 1 }]);\n",
    "§.call(null, { id: 1 });\n",
    "§.bind(null)({ id: 1 });\n",
    "§.apply(null, [{ id: 1 }]);\n",
    "await Promise.resolve({}).then(§);\n",
    "[1].map(§);\n",
    "((f) => f({ id: 1 }))(§);\n",
    "§`x`;\n",
    "const go = () => §; go()({ id: 1 });\n",
    "class Caller { go = § }\nnew Caller().go({ id: 1 });\n",
    "JSON.stringify({ a: 1 }, (k, v) => v === 1 ? §({}) : v);\n",
    "Reflect.apply(§, null, [{ id: 1 }]);\n",
];

/// The sites of a program; `None` where it is refused, and does not run.
fn sites(program: &str) -> Option<Sites> {
    prepare(program).ok().map(|prepared| prepared.sites)
}

/// Whether the plan of a program lists the call, or says that it may call anything.
fn is_bound(sites: &Sites) -> bool {
    let mut listed = sites.sites.iter();
    !sites.dynamic.is_empty()
        || listed.any(|site| site.server.as_deref() == Some("shop") && site.tool == "pay")
}

/// A program from the places of its parts in the tables.
fn program(
    prefix: usize,
    root: usize,
    members: [usize; 2],
    hidden: &[(bool, usize)],
    call: usize,
) -> String {
    let pick = |table: &[&'static str], at: usize| table[at % table.len()];
    let mut text = pick(PREFIXES, prefix).to_owned();
    let mut value = pick(ROOTS, root).to_owned();
    let mut names = ["shop", "pay"].into_iter().zip(members);
    // The members are taken between the mutations.
    for (number, (is_statement, at)) in hidden.iter().enumerate() {
        let number = number.to_string();
        if *is_statement {
            let statement = pick(BINDINGS, *at).replace('#', &number);
            text.push_str(&statement.replace('§', &value));
            value = format!("v{number}");
        } else {
            value = pick(WRAPPERS, *at).replace('§', &value);
        }
        if number == "0" || number == "2" {
            value = with_member(names.next(), &value);
        }
    }
    for name in names.map(Some) {
        value = with_member(name, &value);
    }
    text.push_str(&pick(CALLS, call).replace('§', &value));
    text
}

fn with_member(name: Option<(&str, usize)>, value: &str) -> String {
    match name {
        Some((name, at)) => MEMBERS[at % MEMBERS.len()]
            .replace("NAME", name)
            .replace('§', value),
        None => value.to_owned(),
    }
}

#[test]
fn each_way_alone_is_read_and_is_listed_or_unknown() {
    let check = |text: String| {
        let found = sites(&text).unwrap_or_else(|| panic!("not read: {text}"));
        assert!(is_bound(&found), "{text}");
    };
    for at in 0..ROOTS.len() {
        check(program(0, at, [0, 0], &[], 0));
    }
    for at in 0..PREFIXES.len() {
        check(program(at, 0, [0, 0], &[], 0));
    }
    for at in 0..WRAPPERS.len() {
        check(program(0, 0, [0, 0], &[(false, at)], 0));
    }
    for at in 0..BINDINGS.len() {
        check(program(0, 0, [0, 0], &[(true, at)], 0));
    }
    for at in 0..MEMBERS.len() {
        check(program(0, 0, [at, 0], &[], 0));
        check(program(0, 0, [0, at], &[], 0));
    }
    for at in 0..CALLS.len() {
        check(program(0, 0, [0, 0], &[], at));
    }
}

#[test]
fn functions_that_hand_tools_on_are_unknown() {
    for text in [
        "Object.freeze(tools).shop.pay()",
        "Object.values(tools.shop)[0]()",
        "Array.of(tools)[0].shop.pay()",
        "const console = { log: (t) => t.shop.pay() }; console.log(tools)",
        "JSON.stringify(tools.shop, (k, v) => v.pay())",
        "tools instanceof { [Symbol.hasInstance]: (t) => t.shop.pay() }",
        "tools.valueOf().shop.pay()",
        "callMCPTool.call(null, 'shop', 'pay', {})",
        "mcp__shop__pay.bind(null)({})",
        "globalThis.Function('return tools')().shop.pay()",
        "const { constructor: F } = () => {}; F('return tools')().shop.pay()",
        "const handlers = f(); handlers[k](code)",
        "new handlers[k](code)",
    ] {
        let found = sites(text).unwrap_or_else(|| panic!("not read: {text}"));
        assert!(!found.dynamic.is_empty(), "{text}");
    }
}

#[test]
fn ordinary_programs_have_no_unknown() {
    for text in [
        "const rows = await tools.shop.list({ n: 3 });\nconst totals: Record<string, number> = {};\n\
         for (const row of rows.items) totals[row.name] = (totals[row.name] ?? 0) + row.n;\n\
         const { [rows.first]: _, ...rest } = totals;\n\
         return Object.entries(rest).sort((a, b) => b[1] - a[1]).slice(0, 10)",
        "const ids = [1, 2, 3];\nconst found = await Promise.all(ids.map((id) => tools.shop.get({ id })));\n\
         console.log(JSON.stringify(found, null, 2), found[0]['name'], Object.keys(tools.shop));\n\
         return new Map(found.map((one) => [one.id, one]))",
        "class Report { rows: string[] = []; add(row: string) { this.rows.push(row); return this } }\n\
         const report = new Report();\ntry { report.add((await tools.shop.get({ id: 1 })).name) } catch (e) { if (e instanceof ToolError) throw e }\nreturn report.rows",
        "const { shop } = tools;\nconst key = 'name';\nconst one = await shop.get({ id: 1 });\nreturn one[key].split('\\n').map((line) => line.trim())",
        "const found = await search('mail');\nreturn found.map((tool) => describe(tool.name))",
    ] {
        let found = sites(text).unwrap_or_else(|| panic!("not read: {text}"));
        assert_eq!(found.dynamic, [], "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_mutation_of_a_call_leaves_the_plan(
        prefix in 0..PREFIXES.len(),
        root in prop_oneof![2 => Just(0), 1 => 0..ROOTS.len()],
        members in any::<[u8; 2]>(),
        hidden in proptest::collection::vec((any::<bool>(), 0_usize..1_000), 0..6),
        call in 0..CALLS.len(),
    ) {
        let members = members.map(usize::from);
        let text = program(prefix, root, members, &hidden, call);
        // What is refused does not run.
        if let Some(found) = sites(&text) {
            prop_assert!(is_bound(&found), "{}", text);
        }
    }
}
