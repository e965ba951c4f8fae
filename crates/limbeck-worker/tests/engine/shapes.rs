//! Every shape a program may have, from source to value, through the real engine.

use crate::gateway::{Run, value};
use limbeck_domain::ErrorKind;

#[test]
fn every_shape_comes_to_its_value() {
    for (program, expected) in [
        // Bodies.
        ("return 1 + 1", "2"),
        ("const a = await tools.test.echo({ x: 1 }); return a.x", "1"),
        ("return", "undefined"),
        ("", "undefined"),
        ("// nothing", "undefined"),
        ("if (input.n > 1) { return 'big' } 'small'", "\"big\""),
        // Last expressions.
        ("1 + 1", "2"),
        ("const a = [1, 2];\na.map(x => x * 2)", "[2,4]"),
        ("await tools.test.echo({ x: 1 })", "{\"x\":1}"),
        ("({ a: 1 })", "{\"a\":1}"),
        ("{ a: 1, b: [2] }", "{\"a\":1,\"b\":[2]}"),
        ("{ a: 1 };", "{\"a\":1}"),
        ("{ const a = 1; }", "undefined"),
        ("'text'", "\"text\""),
        ("'use strict'", "undefined"),
        ("#!/usr/bin/env node\nreturn 1", "1"),
        ("main2();\nasync function main2() { return 3 }", "3"),
        ("5\ninterface Late { a: string }", "5"),
        ("let n = 1; n = 5", "undefined"),
        ("let n = 1; n++", "undefined"),
        ("console.log('x')", "undefined"),
        ("await console.log('x')", "undefined"),
        ("setTimeout(() => {}, 1)", "undefined"),
        (
            "const t = setInterval(() => {}, 1); clearInterval(t)",
            "undefined",
        ),
        // Loops that await.
        (
            "let n = 0; for await (const x of [1, 2].map(async x => x)) n += x; return n",
            "3",
        ),
        (
            "async function* pages() { yield 1; yield (await tools.test.echo({ n: 2 })).n }\nconst seen = [];\nfor await (const n of pages()) { seen.push(n) }\nseen",
            "[1,2]",
        ),
        ("(async () => { return 4 })()", "4"),
        ("(async () => 4)().then(x => x + 1)", "5"),
        ("`a${1}`", "\"a1\""),
        ("x as unknown\nfunction x() {}", "undefined"),
        // Functions.
        ("async () => { return 6 }", "6"),
        ("async ({ n }) => n * 2;", "42"),
        ("(input) => input.n", "21"),
        ("async function (input) { return input.n }", "21"),
        ("function (input) { return input.n }", "21"),
        (
            "// doc\nasync function ({ n }: { n: number }): Promise<number> { return n }",
            "21",
        ),
        ("(async function named() { return 7 })", "7"),
        ("const k = 2; async () => k", "2"),
        // Declared and never called.
        ("async function main() { return 8 }", "8"),
        ("function run(input) { return input.n }", "21"),
        ("export async function run() { return 9 }", "9"),
        ("const main = async () => 10;", "10"),
        ("export const main = async ({ n }) => n;", "21"),
        (
            "async function main() { return 11 }\nconsole.log('setup')",
            "11",
        ),
        ("async function main() { return 11 }\nawait main();", "11"),
        ("async function main() { return 11 }\nreturn 12", "12"),
        (
            "function run(n: any): any { return typeof n === 'number' ? n : run(n.n) }",
            "21",
        ),
        // Modules.
        ("export default 13", "13"),
        ("export default { a: 1 }", "{\"a\":1}"),
        ("export default async () => 14", "14"),
        ("export default async function () { return 15 }", "15"),
        (
            "export default async function main(input) { return input.n }",
            "21",
        ),
        (
            "export default function f({ n }) { return g(n) }\nfunction g(x) { return x + 1 }",
            "22",
        ),
        ("const f = async () => 16; export { f as default }", "16"),
        ("const f = async () => 16; export default f", "16"),
        (
            "export const a = 1; export { a as b }; export type T = string; a + 1",
            "2",
        ),
        ("export enum E { A = 3 }\nreturn E.A", "3"),
        (
            "import { tools } from 'limbeck'; return (await tools.test.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import * as all from 'limbeck'; return (await all.tools.test.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import { test } from './mcp-wrappers'; return (await test.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import wrappers from './mcp-wrappers'; return (await wrappers.test.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import { echo } from './servers/test'; return (await echo({ x: 2 })).x",
            "2",
        ),
        (
            "import { echo as e } from './servers/test/echo.ts'; return (await e({ x: 2 })).x",
            "2",
        ),
        (
            "import * as t from './servers/test/index.js'; return (await t.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import test from './mcp-test.ts'; return (await test.echo({ x: 2 })).x",
            "2",
        ),
        (
            "import type { A } from 'some-types'; import { B } from 'x'; const b: B = 1; return b",
            "1",
        ),
        ("import 'limbeck'; return 1", "1"),
        // Fences.
        ("```ts\nreturn 17\n```", "17"),
        ("```\nreturn 17", "17"),
        (
            "Here it is:\n\n```typescript\nconst a: number = 18;\nreturn a;\n```\nDone!",
            "18",
        ),
        (
            "Some data:\n```json\n{}\n```\nand code:\n```js\n19\n```",
            "19",
        ),
        ("return 'a' + `\n\\`\\`\\`\n`.length", "\"a5\""),
    ] {
        assert_eq!(value(program), expected, "{program}");
    }
}

#[test]
fn types_are_erased_and_what_typescript_adds_is_compiled() {
    for (program, expected) in [
        (
            "interface A { x: number }\nconst a: A = { x: 1 } satisfies A;\nreturn a!.x as number",
            "1",
        ),
        (
            "enum Color { Red, Green = 'g' }\nreturn [Color.Red, Color.Green, Color[0]]",
            "[0,\"g\",\"Red\"]",
        ),
        ("const enum E { A = 1 << 2 }\nreturn E.A", "4"),
        (
            "namespace N { export const x = 1; export function f() { return x + 1 } }\nreturn N.f()",
            "2",
        ),
        ("namespace N { export const x = 1 }\nN.x", "1"),
        ("enum Last { A }", "undefined"),
        (
            "class P { constructor(private x: number, public readonly y = 2) {} sum() { return this.x + this.y } }\nreturn new P(1).sum()",
            "3",
        ),
        (
            "abstract class A { abstract f(): number; g(this: A) { return this.f() } }\nclass B extends A { f() { return 5 } }\nreturn new B().g()",
            "5",
        ),
        (
            "function f(x: string): string; function f(x: number): number; function f(x: any) { return x }\nreturn f(1)",
            "1",
        ),
        (
            "function id<T,>(x: T): T { return x }\nconst g = <T,>(x: T) => x;\nreturn id<number>(1) + g<number>(2)",
            "3",
        ),
        (
            "declare const x: string; type T = { [K in keyof Window]: string };\nlet y: unique symbol;\nreturn 1",
            "1",
        ),
        ("const x = <number>1; let y!: number; y = x; return y", "1"),
        (
            "class D { declare x: string; #p = 1; static s = 2; get p() { return this.#p } static { D.s++ } }\nreturn new D().p + D.s",
            "4",
        ),
        ("const wrong: number = 'text'; return wrong", "\"text\""),
        (
            "const log: string[] = [];\nfunction dec(t: any, k?: any, d?: any) { log.push(String(k ?? t.name)); return d }\n@dec class C { @dec m() {} @dec p = 1 }\nreturn log",
            "[\"m\",\"p\",\"C\"]",
        ),
        (
            "const seen: any[] = [];\nconst par = (t: any, k: any, i: number) => { seen.push(i) };\nclass C { m(@par a: any, @par b: any) {} }\nreturn seen",
            "[1,0]",
        ),
        ("{ using r = { [Symbol.dispose]() {} }; }\nreturn 1", "1"),
        ("return [...'ab'].length", "2"),
    ] {
        assert_eq!(value(program), expected, "{program}");
    }
}

#[test]
fn programs_run_in_strict_mode_with_their_own_names_first() {
    assert_eq!(
        value("const tools = 1, input = 2, search = 3; return tools + input + search"),
        "6"
    );
    assert_eq!(value("return this === undefined"), "true");
    // Without `let`, the text would be a program of Python.
    let outcome = Run::new("let ops = 0; oops = 1").go();
    assert!(
        outcome
            .fault_of(ErrorKind::Exception)
            .message
            .starts_with("ReferenceError")
    );
}

#[test]
fn what_cannot_be_had_is_a_syntax_error_that_says_what_can() {
    for (program, message, line, column) in [
        (
            "return 1;\nimport fs from 'fs'; fs.x",
            "module `fs` does not exist here",
            2,
            16,
        ),
        (
            "export * from 'lodash'",
            "module `lodash` does not exist here",
            1,
            15,
        ),
        (
            "const a = 1;\nconst m = await import('fs')",
            "modules cannot be loaded",
            2,
            17,
        ),
        (
            "return import.meta.url",
            "`import.meta` does not exist here",
            1,
            8,
        ),
        (
            "const a = <div className='x'>text</div>;",
            "JSX is not supported",
            1,
            16,
        ),
        ("const a = ;", "Unexpected token", 1, 11),
        (
            "let a = 1;\nlet a = 2;",
            "`a` has already been declared",
            1,
            5,
        ),
        ("function f() { await g() }", "`await`", 1, 16),
        ("```ts\nconst a = ;\n```", "Unexpected token", 2, 11),
        (
            "Well:\n```ts\n\n  return (1;\n```",
            "Expected `,` or `)`",
            4,
            12,
        ),
        ("{ a: 1, b }}", "", 1, 12),
        ("const é = 'ü'; const = 1", "Unexpected token", 1, 22),
        ("break;", "", 1, 1),
    ] {
        let outcome = Run::new(program).go();
        let fault = outcome.fault_of(ErrorKind::Syntax);
        assert!(
            fault.message.starts_with("SyntaxError: "),
            "{program}: {fault:?}"
        );
        assert!(fault.message.contains(message), "{program}: {fault:?}");
        assert_eq!(
            (fault.line, fault.column),
            (Some(line), Some(column)),
            "{program}: {fault:?}"
        );
        assert!(outcome.calls.is_empty());
    }
}

#[test]
fn several_blocks_are_told_apart_in_a_warning() {
    let outcome = Run::new("A:\n```ts\nreturn 1\n```\nB:\n```ts\nreturn 2\n```").go();
    assert_eq!(outcome.value(), "1");
    let warnings = &outcome.done.as_ref().unwrap().warnings;
    assert_eq!(
        warnings,
        &["the text holds 2 code blocks; the one on line 2 was run"]
    );
}

/// Hint for a thrown value that has no place.
const NOT_AN_ERROR: &str =
    "only an error knows its line: write `throw new Error(text)` instead of `throw text`";

#[test]
fn a_thrown_text_has_no_place_and_says_what_has_one() {
    for program in [
        "throw 'a text'",
        "throw 1",
        "await Promise.reject('a text')",
    ] {
        let outcome = Run::new(program).go();
        let fault = outcome.fault_of(ErrorKind::Exception);
        assert_eq!(fault.line, None, "{program}");
        assert_eq!(fault.hint.as_deref(), Some(NOT_AN_ERROR), "{program}");
    }
    // The control: an error has its place and no such hint, also where a timer throws it.
    for program in [
        "throw new Error('a text')",
        "await new Promise(() => setTimeout(() => { throw new Error('a text') }))",
    ] {
        let outcome = Run::new(program).go();
        let fault = outcome.fault_of(ErrorKind::Exception);
        assert_eq!(
            (fault.line, fault.hint.as_deref()),
            (Some(1), None),
            "{program}"
        );
    }
}

#[test]
fn only_a_tool_error_has_a_hint_of_its_own() {
    for (program, expected) in [
        // What a server answered is thrown as it is.
        (
            r#"throw { message: "m", hint: "run `limbeck trust`" }"#,
            Some(NOT_AN_ERROR),
        ),
        (
            r#"throw Object.assign(new Error("m"), { hint: "run `limbeck trust`" })"#,
            None,
        ),
        (
            r#"throw new ToolError("m", { hint: "try again" })"#,
            Some("try again"),
        ),
        // The code of a failed call is in the error, whether its hint says it or not.
        (
            "await tools.test.fail()",
            Some("`tools.test.fail` failed with the code `tool_failed`"),
        ),
        (
            r#"throw new ToolError("m", { code: "denied", hint: "try again" })"#,
            Some("try again (the call failed with the code `denied`)"),
        ),
        (
            r#"throw new ToolError("m", { code: "denied" })"#,
            Some("a call failed with the code `denied`"),
        ),
        // Codes of others are not ours.
        (r#"throw new ToolError("m", { code: "`rm -rf`" })"#, None),
        (
            r#"throw Object.assign(new Error("m"), { code: "denied" })"#,
            None,
        ),
    ] {
        let outcome = Run::new(program).go();
        let fault = outcome.fault_of(ErrorKind::Exception);
        assert_eq!(fault.hint.as_deref(), expected, "{program}");
    }
}
