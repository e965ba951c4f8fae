//! Errors name the line and column of the model's own text.

use crate::gateway::Run;
use limbeck_domain::ErrorKind;

#[track_caller]
fn thrown(program: &str, message: &str, line: u32, column: u32) {
    let outcome = Run::new(program).go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert_eq!(fault.message, message, "{program}");
    assert_eq!(
        (fault.line, fault.column),
        (Some(line), Some(column)),
        "{program}\n{fault:?}"
    );
}

#[test]
fn lines_survive_the_erasing_of_types() {
    let program = "\
interface Item {
  name: string;
  tags: string[];
}

enum Kind { A, B }

type Pair<T> = [T, T];

function check(item: Item): void {
  if (item.tags.length === 0) throw new Error('untagged');
}

check({ name: 'x', tags: [] } as Item);
";
    thrown(program, "Error: untagged", 11, 41);
}

#[test]
fn a_fenced_block_counts_the_lines_before_it() {
    thrown(
        "Text first.\n\n```ts\nconst a: any = null;\nreturn a.b.c;\n```",
        "TypeError: cannot read property 'b' of null",
        5,
        8,
    );
}

#[test]
fn nested_async_functions_and_callbacks_name_the_throwing_line() {
    let nested = "\
async function outer() {
  const inner = async (x: number) => {
    await tools.test.echo({});
    throw new RangeError('deep');
  };
  return await inner(1);
}
return await outer();
";
    thrown(nested, "RangeError: deep", 4, 15);
    thrown(
        "const xs = [1, 2, 3];\nreturn xs.map(x => {\n  if (x === 2) throw new Error('two');\n  return x;\n});",
        "Error: two",
        3,
        26,
    );
}

#[test]
fn every_shape_keeps_its_places() {
    thrown(
        "export default async function main() {\n  throw new Error('a');\n}",
        "Error: a",
        2,
        13,
    );
    thrown(
        "async () => {\n\n  throw new Error('b');\n}",
        "Error: b",
        3,
        13,
    );
    thrown("function (x) { throw new Error('c') }", "Error: c", 1, 26);
    thrown(
        "import { test } from './mcp-wrappers';\nthrow new Error('d')",
        "Error: d",
        2,
        11,
    );
    thrown(
        "async function main() {\n  throw new Error('e');\n}",
        "Error: e",
        2,
        13,
    );
    thrown(
        "@(c => c) class A {}\nthrow new Error('f')",
        "Error: f",
        2,
        11,
    );
}

#[test]
fn columns_count_as_editors_do() {
    thrown(
        "const s = 'é漢😀'; throw new Error('wide');",
        "Error: wide",
        1,
        29,
    );
}

#[test]
fn a_failed_call_names_the_line_that_made_it() {
    let outcome = Run::new("const a = 1;\nawait tools.test.fail({});\nreturn a;").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert!(fault.message.contains("it failed as asked"), "{fault:?}");
    assert_eq!(fault.line, Some(2), "{fault:?}");
}

#[test]
fn a_thrown_thing_that_is_no_error_is_still_told() {
    let outcome = Run::new("throw { code: 7 }").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert!(fault.message.contains('7'), "{fault:?}");
}

#[test]
fn a_regular_expression_only_the_engine_refuses_has_a_place() {
    let outcome = Run::new("const a = 1;\nconst r = /(/;\nreturn a;").go();
    let fault = outcome.fault();
    assert_eq!(fault.kind, ErrorKind::Syntax, "{fault:?}");
    assert_eq!(fault.line, Some(2), "{fault:?}");
}

#[test]
fn a_stack_that_the_program_prints_has_the_lines_of_its_text() {
    let program = "\
interface Item {
  name: string;
}
function check(item: Item): Error {
  return new Error(item.name);
}
const error = check({ name: 'untagged' });
console.error(error.stack);
console.log('at program:2:1', 'is no frame');
return 1";
    let outcome = Run::new(program).go();
    assert_eq!(outcome.value(), "1");
    assert!(outcome.stderr.contains("program:5:"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("program:7:"), "{}", outcome.stderr);
}
