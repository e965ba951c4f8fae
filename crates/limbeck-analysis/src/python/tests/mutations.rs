//! Programs that call one tool in ways that are more and more hidden. By their construction all of them make the call, so each
//! must list it, or have a place where any tool may be called.

use limbeck_domain::limits::PROGRAM_BYTES_MAX;
use proptest::prelude::*;

use super::{SERVERS, read, sites};

/// Expressions whose value is `tools`.
const ROOTS: &[&str] = &[
    "tools",
    "globals()['tools']",
    "eval('tools')",
    "[eval][0]('tools')",
    "__import__('tools')",
    "vars()['tools']",
    "(lambda: 0).__globals__['tools']",
    "getattr(lambda: 0, '__glo' + 'bals__')['tools']",
    "getattr(lambda: 0, '__globals__')['tools']",
    "__builtins__.eval('tools')",
    "print.__self__.eval('tools')",
    "__import__('sys').modules['__main__'].tools",
];
/// Statements that do not change what `tools` is where the program uses it.
const PREFIXES: &[&str] = &[
    "",
    "def unused(tools):\n    return tools\n",
    "class Unused:\n    tools = 1\n",
    "[0 for tools in []]\n",
    "def print(t):\n    return t\n",
    "def unused(eval, getattr, vars, globals):\n    return eval\n",
    "import json\nimport sys as s\n",
];
/// Expressions with the value of `§`. `#` is a number of its own.
const WRAPPERS: &[&str] = &[
    "(§)",
    "[§][0]",
    "(§,)[0]",
    "{'k': §}['k']",
    "(lambda t: t)(§)",
    "(lambda t=§: t)()",
    "(lambda: §)()",
    "(§ or None)",
    "(§ if True else None)",
    "(w# := §)",
    "[t for t in [§]][0]",
    "next(t for t in [§])",
    "list(map(lambda t: t, [§]))[0]",
    "dict(k=§)['k']",
    "(lambda *a: a[0])(*[§])",
    "(lambda **k: k['t'])(**{'t': §})",
];
/// Statements that give `v#` the value of `§`.
const BINDINGS: &[&str] = &[
    "v# = §\n",
    "v#: object = §\n",
    "a# = v# = §\n",
    "(v#,) = [§]\n",
    "v#, *rest# = [§]\n",
    "a# = §\nb# = a#\nc# = b#\nv# = c#\n",
    "def f#(t=§):\n    return t\nv# = f#()\n",
    "def f#():\n    return §\nv# = f#()\n",
    "class C#:\n    t = §\nv# = C#.t\n",
    "class C#:\n    def __init__(self, t):\n        self.t = t\nv# = C#(§).t\n",
    "def g#():\n    yield §\nv# = next(g#())\n",
    "for v# in [§]:\n    pass\n",
    "if True:\n    v# = §\nelse:\n    v# = None\n",
    "try:\n    v# = §\nfinally:\n    pass\n",
    "def d#(f):\n    return lambda: f(§)\n@d#\ndef h#(t):\n    return t\nv# = h#()\n",
    "match §:\n    case v#:\n        pass\n",
    "def o#():\n    global v#\n    v# = §\no#()\n",
    "v# = None\nv# = §\n",
    "list# = []\nlist#.append(§)\nv# = list#[0]\n",
    "def t#(t):\n    def inner():\n        return t\n    return inner\nv# = t#(§)()\n",
    "import functools as tools#\nv# = tools#.reduce(lambda a, b: b, [1, §])\n",
    "import contextlib as context#\nwith context#.nullcontext(§) as v#:\n    pass\n",
];
/// Expressions with the member `NAME` of `§`.
const MEMBERS: &[&str] = &[
    "§.NAME",
    "§['NAME']",
    "getattr(§, 'NAME')",
    "getattr(§, ''.join(['NAME']))",
    "§[f'{\"NAME\"}']",
];
/// Statements that call `§`.
const CALLS: &[&str] = &[
    "§(id=1)\n",
    "await §(id=1)\n",
    "§(*[], **{'id': 1})\n",
    "list(map(§, [1]))\n",
    "(lambda f: f(id=1))(§)\n",
    "[f() for f in [§]]\n",
    "§.__call__(id=1)\n",
    "sorted([1], key=§)\n",
    "@§\ndef decorated():\n    pass\n",
    "def go(f=§):\n    return f(id=1)\ngo()\n",
    "class Caller:\n    go = §\nCaller.go(id=1)\n",
    "import functools\nfunctools.partial(§)(id=1)\n",
];

/// Whether the plan of a program lists the call, or says that it may call anything.
fn is_bound(program: &str) -> bool {
    assert!(program.len() <= PROGRAM_BYTES_MAX);
    // A program that is not read has an unknown in its plan.
    let Some(found) = sites(program, SERVERS) else {
        return true;
    };
    let mut listed = found.sites.iter();
    !found.dynamic.is_empty()
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
            let wrapper = pick(WRAPPERS, *at).replace('#', &number);
            value = wrapper.replace('§', &value);
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
        read(&text);
        assert!(is_bound(&text), "{text}");
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
fn what_reaches_modules_saved_functions_and_imported_tools_is_unknown() {
    for text in [
        "saved_by_an_earlier_program()",
        "f = saved_by_an_earlier_program\nf()",
        "list(map(Saved, [1]))",
        "[saved][0]()",
        "import json\njson.codecs.builtins.eval('tools.shop.pay()')",
        "from json import codecs\ncodecs.builtins.eval('tools.shop.pay()')",
        "import os\nos.sys.modules['__main__'].tools.shop.pay()",
        "from sys import modules\nmodules['__main__'].tools.shop.pay()",
        "import sys as s\ns.modules['__main__'].tools.shop.pay()",
        "import enum\nenum.bltns.eval('tools.shop.pay()')",
        "import json\nj = json\nj.codecs.builtins.eval('tools.shop.pay()')",
        "import pickle\npickle.loads(data)",
        "import timeit\ntimeit.timeit('tools.shop.pay()', globals=names)",
        "import operator\noperator.attrgetter('__globals__')(f)",
        "from operator import methodcaller\nx = 1",
        "import string\nstring.Formatter().get_field('0.__globals__', (f,), {})",
        "import typing\ntyping.get_type_hints(f)",
        "def f(): pass\nmatch f:\n    case object(__globals__=names):\n        names['tools'].shop.pay()",
        "import limbeck_guest.calls",
        "import mcp\nmcp.runtime.call_tool(name, 'pay', {})",
        "from mcp.servers.shop import pay\nf = pay\nlist(map(f, [1]))",
        "from mcp_shop import pay\nlist(map(pay, [1]))",
        "from mcp_shop import ShopClient\nc = ShopClient()\nc.pay()",
        "import mcp_shop as s\nlist(map(s.pay, [1]))",
        "from mcp_shop import *\npay()",
        "from mcp.servers.shop import pay\nlist(map(pay, [1]))",
        "class X:\n    def __eq__(self, t):\n        return t.shop.pay()\nX() == tools",
        "def f(x):\n    return x.shop.pay()\nf(type(tools)())",
    ] {
        assert!(!read(text).dynamic.is_empty(), "{text}");
    }
}

#[test]
fn ordinary_programs_have_no_unknown() {
    for text in [
        "import json\nfrom datetime import datetime, timedelta\nrows = tools.shop.list(since=str(datetime.now() - timedelta(days=1)))\n\
         totals = {}\nfor row in rows:\n    totals[row['name']] = totals.get(row['name'], 0) + getattr(row, 'n', 0)\n\
         print(json.dumps(totals, indent=2))\nreturn sorted(totals.items(), key=lambda pair: -pair[1])[:10]",
        "from collections import Counter, defaultdict\nfrom dataclasses import dataclass\n@dataclass\nclass Row:\n    id: int\n    name: str = ''\n\
         def rows() -> list[Row]:\n    return [Row(id=item['id']) for item in tools.shop.list()['items']]\n\
         try:\n    found = Counter(row.name for row in rows())\nexcept ToolError as error:\n    print(error.__class__.__name__, error)\n    raise ValueError('x') from error",
        "import asyncio\nasync def one(n):\n    return await tools.shop.get(id=n)\nasync def main():\n    return await asyncio.gather(*[one(n) for n in range(3)])\nreturn await main()",
        "import sys, os.path, re, math\nprint('x', file=sys.stderr)\nname = os.path.basename('/a/b')\nif re.match(r'b', name):\n    sys.exit()\nmath.floor(1.5)",
        "tools_found = search('mail')\nfor tool in tools_found:\n    print(tool.name, describe(tool.name))\nprint(servers())",
        "tools = [t for t in search('mail')]\nprint(tools[0].name)\nfor t in tools:\n    emit(t)",
        "class Report:\n    def __init__(self, rows):\n        self.rows = rows\n    def __len__(self):\n        return len(self.rows)\n\
         with open('x.txt', 'w') as file:\n    file.write(str(len(Report([1]))))\nstore.set('k', 1)",
        "def helper(tools):\n    return [tool['name'] for tool in tools]\nhelper([{'name': 'a'}])",
        "def typed(x: Optional[int], **more: Any) -> Dict[str, Any]:\n    y: List[int] = [x]\n    return {'y': y, **more}\ntyped(1)",
        "import mcp\nfrom mcp import ToolError as Failed\ntry:\n    tools.shop.pay()\nexcept KeyError:\n    pass",
    ] {
        assert_eq!(read(text).dynamic, [], "{text}");
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
        prop_assert!(is_bound(&text), "{}", text);
    }
}
