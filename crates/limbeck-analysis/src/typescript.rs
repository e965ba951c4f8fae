//! Compilation of the text that a model sent into a script that the engine runs, with a map from positions of the
//! script back to the text.
//!
//! Programs come in many shapes and all of them run:
//! - a body with top-level `await` and `return`;
//! - a body without `return`: the value of its last expression is the result, unless that is a
//!   call of `console` or `setTimeout`, an assignment or the like, which is there for its effect;
//! - a function expression as the whole program, or as its last expression: it is called with `input`;
//! - a module: what `export default` names is the result, and is called with `input` if it is a
//!   function; imports of generated wrappers become names for parts of `tools`;
//! - `main` or `run` declared and never called: it is called with `input`;
//! - any of these in a fenced block, with or without words around it.
//!
//! A `return` outside of functions takes precedence over the last two lines of that list, and
//! `export default` over the last expression. Types are erased; enums, namespaces, parameter
//! properties and legacy decorators are compiled; types are not checked.
//! JSX does not exist.
//!
//! Start reading at [`prepare`].

mod arguments;
mod conditions;
mod diagnostics;
mod fence;
mod flow;
mod free_names;
mod imports;
mod modules;
#[cfg(test)]
mod mutation_tests;
mod names;
mod nesting;
mod positions;
mod reflection;
mod shape;
mod sites;
mod slips;
mod tree;

use std::path::Path;

use limbeck_domain::limits::PROGRAM_BYTES_MAX;
use limbeck_domain::{ErrorKind, ProgramError, Sites};
use oxc::allocator::Allocator;
use oxc::ast::ast::{Expression, IdentifierReference, Program, Statement};
use oxc::ast_visit::Visit;
use oxc::codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc::parser::{ParseOptions, Parser, ParserReturn};
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::SourceType;
use oxc::transformer::{
    DecoratorOptions, HelperLoaderMode, HelperLoaderOptions, TransformOptions, Transformer,
};

use self::free_names::FreeNames;
use self::modules::ModuleParts;
pub use self::positions::Positions;
use self::positions::{TextOrigin, Token};
use self::shape::ProgramEntry;

/// Name of a default export that has none.
const DEFAULT_NAME: &str = "__limbeck_default";

/// What the decorators of the transformer call, in TypeScript's `experimentalDecorators` meaning.
const HELPERS: &str = concat!(
    "const babelHelpers={",
    "decorate(ds,target,key,desc){const n=arguments.length;",
    "let r=n<3?target:desc===null?desc=Object.getOwnPropertyDescriptor(target,key):desc;",
    "for(let i=ds.length-1;i>=0;i--){const d=ds[i];",
    "if(d)r=(n<3?d(r):n>3?d(target,key,r):d(target,key))||r}",
    "if(n>3&&r)Object.defineProperty(target,key,r);return r},",
    "decorateParam(index,d){return(target,key)=>d(target,key,index)}};",
);

/// A program ready for the engine.
pub struct PreparedScript {
    /// Script whose completion value is a function that runs the program.
    pub script: String,
    /// Where the places of the script are in the model's text.
    pub positions: Positions,
    /// What the model should know about how its text was read.
    pub warnings: Vec<String>,
    /// Calls of tools in the text.
    pub sites: Sites,
    /// Names such as `mcp__server__tool` that the program uses and does not declare; bounded.
    pub full_names: Vec<String>,
    /// Whether it uses names as Python does, and would fail here: an assignment to a name that is not declared, or
    /// `print`.
    pub is_like_python: bool,
}

/// Reads a program.
///
/// # Errors
///
/// A [`ProgramError`] of kind [`ErrorKind::Syntax`] with the place of the first error, also for what is
/// TypeScript but cannot be had here: JSX, modules that do not exist, nesting beyond all reason.
pub fn prepare(program: &str) -> Result<PreparedScript, ProgramError> {
    if program.len() > PROGRAM_BYTES_MAX {
        let error = ProgramError::new(
            ErrorKind::Request,
            format!(
                "program is {} bytes, at most {PROGRAM_BYTES_MAX} are allowed",
                program.len()
            ),
        );
        return Err(error);
    }
    match fence::first(program) {
        Some(block) => prepare_block(&block),
        None => prepare_text(program, TextOrigin::default()),
    }
}

/// Whether a text can be read as a program.
pub fn accepts(program: &str) -> bool {
    prepare(program).is_ok_and(|prepared| !prepared.is_like_python)
}

/// Touches the code paths every program takes, so that the first program finds them in memory.
pub fn warm_up() {
    let program =
        "interface A { b?: string }\nconst a: A = await tools.a.b({ c: `${1}` });\nreturn a;";
    let warm = prepare(program);
    debug_assert!(warm.is_ok());
}

fn prepare_block(block: &fence::Block<'_>) -> Result<PreparedScript, ProgramError> {
    let origin = TextOrigin {
        line: block.line,
        ..TextOrigin::default()
    };
    let mut prepared = prepare_text(block.text, origin)?;
    if block.others > 0 {
        prepared.warnings.push(format!(
            "the text holds {} code blocks; the one on line {} was run",
            block.others + 1,
            block.line
        ));
    }
    Ok(prepared)
}

fn prepare_text(text: &str, origin: TextOrigin) -> Result<PreparedScript, ProgramError> {
    nesting::check(text, origin)?;
    match shape::begins_like(text) {
        shape::Beginning::Anything => compile(text, origin),
        // `function (input) { … }` is not a statement, but it is a program.
        shape::Beginning::NamelessFunction => compile_expression(text, origin),
        // `{ total: 1 }` is a block with a label, and also an object. The second is meant.
        shape::Beginning::Brace => {
            compile_expression(text, origin).or_else(|_| compile(text, origin))
        }
    }
}

fn compile_expression(text: &str, origin: TextOrigin) -> Result<PreparedScript, ProgramError> {
    let text = text.trim_end().trim_end_matches(';');
    let origin = TextOrigin {
        prefix: 1,
        ..origin
    };
    let wrapped = format!("({text}\n)");
    let prepared = compile(&wrapped, origin)?;
    if is_in_parentheses(&wrapped) {
        Ok(prepared)
    } else {
        let message = "a program that begins as an expression must be one expression";
        Err(diagnostics::error(
            message.to_owned(),
            None,
            &wrapped,
            1,
            origin,
        ))
    }
}

/// Whether the first and the last character of a text that parses belong together. They do not when
/// the text between them closes the first, as in `({}); f(); ({})`.
fn is_in_parentheses(text: &str) -> bool {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts())
        .with_options(ParseOptions {
            preserve_parens: true,
            ..ParseOptions::default()
        })
        .parse();
    let [Statement::ExpressionStatement(statement)] = parsed.program.body.as_slice() else {
        return false;
    };
    let Expression::ParenthesizedExpression(parentheses) = &statement.expression else {
        return false;
    };
    parentheses.span.start == 0 && parentheses.span.end as usize == text.len()
}

fn compile(text: &str, origin: TextOrigin) -> Result<PreparedScript, ProgramError> {
    let allocator = Allocator::default();
    let mut parsed = parse(&allocator, text, SourceType::ts());
    // The parser takes a text with `await` outside of functions for a module, but not for a loop with `for await` alone, and
    // not where `await` could be a name: `await (f)()` would be a call of it.
    let is_read_as_script = || parsed.diagnostics.has_errors() || names_await(&parsed.program);
    if text.contains("await") && is_read_as_script() {
        let module = parse(&allocator, text, SourceType::ts().with_module(true));
        if !module.diagnostics.has_errors() {
            parsed = module;
        }
    }
    if let Some(error) = parsed.diagnostics.errors().next() {
        return Err(diagnostics::syntax(error, text, origin));
    }
    modules::check_record(&parsed.module_record, text, origin)?;
    let mut program = parsed.program;
    program.hashbang = None;
    let entry = shape::entry(&mut program, &allocator);
    let (scoping, sites, warnings) = analyse(&program, text, origin)?;
    let free = FreeNames::of(&scoping);
    let is_like_python = free.are_like_python && !free_names::has_named_keys(&program);
    transform(&mut program, scoping, &allocator, text, origin)?;
    let module = modules::flatten(&mut program, &allocator, text, origin)?;
    let mut prepared = print(&program, &entry, &module, origin);
    prepared.sites = sites;
    prepared.warnings = warnings;
    prepared.is_like_python = is_like_python;
    prepared.full_names = free.full_names;
    Ok(prepared)
}

/// Whether `await` is a name somewhere.
fn names_await(program: &Program<'_>) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
            self.0 |= name.name == "await";
        }
    }
    let mut finder = Finder(false);
    finder.visit_program(program);
    finder.0
}

fn parse<'a>(allocator: &'a Allocator, text: &'a str, source_type: SourceType) -> ParserReturn<'a> {
    Parser::new(allocator, text, source_type)
        .with_options(ParseOptions {
            allow_return_outside_function: true,
            preserve_parens: false,
            // The engine rejects a bad expression too, but without its position.
            parse_regular_expression: true,
            ..ParseOptions::default()
        })
        .parse()
}

/// Finds early errors, such as a name declared twice, what every name refers to, the calls of tools, and promises that are
/// conditions, as warnings.
fn analyse(
    program: &Program<'_>,
    text: &str,
    origin: TextOrigin,
) -> Result<(Scoping, Sites, Vec<String>), ProgramError> {
    let may_have_sites = sites::may_have(text);
    let analysed = SemanticBuilder::new_compiler()
        .with_build_nodes(may_have_sites)
        .with_enum_eval(true)
        .build(program);
    if let Some(error) = analysed.diagnostics.errors().next() {
        return Err(diagnostics::syntax(error, text, origin));
    }
    let (sites, warnings) = if may_have_sites {
        (
            sites::collect(&analysed.semantic, text, origin),
            [conditions::warnings, slips::warnings]
                .iter()
                .flat_map(|warnings| warnings(&analysed.semantic, text, origin))
                .collect(),
        )
    } else {
        (Sites::default(), Vec::new())
    };
    Ok((analysed.semantic.into_scoping(), sites, warnings))
}

fn transform<'a>(
    program: &mut Program<'a>,
    scoping: Scoping,
    allocator: &'a Allocator,
    text: &str,
    origin: TextOrigin,
) -> Result<(), ProgramError> {
    let options = TransformOptions {
        decorator: DecoratorOptions {
            legacy: true,
            ..DecoratorOptions::default()
        },
        helper_loader: HelperLoaderOptions {
            mode: HelperLoaderMode::External,
            ..HelperLoaderOptions::default()
        },
        ..TransformOptions::default()
    };
    let transformed = Transformer::new(allocator, Path::new("program.ts"), &options)
        .build_with_scoping(scoping, program);
    match transformed.diagnostics.errors().next() {
        Some(error) => Err(diagnostics::syntax(error, text, origin)),
        None => Ok(()),
    }
}

fn print(
    program: &Program<'_>,
    entry: &ProgramEntry,
    module: &ModuleParts,
    origin: TextOrigin,
) -> PreparedScript {
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            comments: CommentOptions::disabled(),
            source_map_path: Some("program".into()),
            // Indentation would make deep nesting cost the square of its depth.
            indent_width: 0,
            ..CodegenOptions::default()
        })
        .build(program);
    let map = printed.map.unwrap_or_default();
    let tokens = map.get_tokens().map(|token| {
        Token::new(
            (token.get_dst_line(), token.get_dst_col()),
            (token.get_src_line(), token.get_src_col()),
        )
    });
    let script = wrap(&printed.code, entry, module);
    PreparedScript {
        positions: Positions::new(&script, tokens, origin),
        script,
        warnings: Vec::new(),
        sites: Sites::default(),
        full_names: Vec::new(),
        is_like_python: false,
    }
}

/// Makes a function of the program. The code begins on the second line, see
/// [`positions::LINES_BEFORE_CODE`].
fn wrap(code: &str, entry: &ProgramEntry, module: &ModuleParts) -> String {
    let helpers = if code.contains("babelHelpers.") {
        HELPERS
    } else {
        ""
    };
    let imports = &module.imports;
    let last = match (&module.default, entry) {
        (Some(name), _) => format!("return {name};\n"),
        (None, ProgramEntry::Uncalled(name)) => format!("return {name};\n"),
        (None, ProgramEntry::Body | ProgramEntry::Function) => String::new(),
    };
    let body = format!("(async function () {{\"use strict\";{helpers}{imports}\n{code}{last}}})");
    // `export default ({ tools }) => …` takes the globals by their names, as other systems pass them.
    let argument = match module.takes_globals {
        true => {
            "{input,servers,search,describe,store,artifacts,emit,budget,console,...globalThis.input,tools}"
        }
        false => "globalThis.input",
    };
    let calls = module.default.is_some() || !matches!(entry, ProgramEntry::Body);
    if calls {
        format!(
            "(async function () {{const value = await {body}();\n\
             return typeof value === \"function\" ? value({argument}) : value;}})"
        )
    } else {
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(program: &str) -> ProgramError {
        match prepare(program) {
            Ok(prepared) => panic!("accepted as {}", prepared.script),
            Err(fault) => fault,
        }
    }

    fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .stack_size(crate::PARSER_STACK_BYTES)
                .spawn_scoped(scope, work)
                .unwrap()
                .join()
                .unwrap()
        })
    }

    #[test]
    fn a_program_of_the_largest_size_is_read_and_one_byte_more_is_refused() {
        let largest = format!("//{}", " ".repeat(PROGRAM_BYTES_MAX - 2));
        assert!(prepare(&largest).is_ok());
        let fault = fault(&format!("{largest} "));
        assert_eq!(fault.kind, ErrorKind::Request);
        assert_eq!(
            fault.message,
            "program is 262145 bytes, at most 262144 are allowed"
        );
    }

    #[test]
    fn a_program_of_the_other_language_is_told_by_its_names() {
        for python in [
            "r = await tools.a.b(path=\"x\")\nprint(r)",
            "print(\"hello\")",
            "result = 1\nreturn result",
            "x = len([1])",
            "r = await tools.a.b({\"path\": \"x\"})\nreturn r",
        ] {
            assert!(
                prepare(python).is_ok_and(|prepared| prepared.is_like_python),
                "{python}"
            );
            assert!(
                !accepts(python) && crate::python::accepts(python),
                "{python}"
            );
        }
        for typescript in [
            "const r = await tools.a.b({ path: 'x' }); return r",
            "x = 1; console.log(x)",
            "return totl",
            "print = (x) => console.log(x)",
            // A key without quotes would be a variable in Python.
            "r = await tools.a.b({ path: 'x' })\nreturn r",
        ] {
            assert!(accepts(typescript), "{typescript}");
        }
        let error = fault("import json\nprint(json.dumps({\"a\": 1}))");
        assert_eq!(error.kind, ErrorKind::Syntax);
        for neither in ["const a = {;", "if True\nprint(1)"] {
            assert!(
                !accepts(neither) && !crate::python::accepts(neither),
                "{neither}"
            );
        }
    }

    #[test]
    fn a_loop_over_promises_may_be_at_the_top_level_alone() {
        for program in [
            "let n = 0; for await (const x of [f(1), f(2)]) n += x; return n",
            "async function* g() { yield 1 } for await (const x of g()) console.log(x)",
        ] {
            assert!(prepare(program).is_ok(), "{program}");
        }
        let fault = fault("function g() { for await (const x of h()) f(x) } return g()");
        assert_eq!(fault.kind, ErrorKind::Syntax);
        assert!(fault.message.contains("for await"), "{fault:?}");
    }

    #[test]
    fn await_before_parentheses_or_brackets_is_no_name() {
        for program in [
            "return (await (async () => ({ a: 1 }))()).a",
            "const n = (await (tools.shop as any).list({})).total ?? 0; return n",
            "try { return (await (f)()).a } catch { return 1 }",
            "return (await [p][0]).x",
        ] {
            let script = prepare(program).unwrap().script;
            assert!(script.contains("(await "), "{script}");
        }
    }

    #[test]
    fn full_names_that_a_program_does_not_declare_are_listed() {
        let prepared =
            prepare("mcp__a__b({}); mcp__a__c({}); const mcp__d__e = 1; tools.mcp__f__g({})");
        assert_eq!(prepared.unwrap().full_names, ["mcp__a__b", "mcp__a__c"]);
    }

    #[test]
    fn a_program_put_in_parentheses_cannot_close_them() {
        assert!(prepare("{ total: 1, inner: { a: [1] } }").is_ok());
        assert!(prepare("function () { return 1 }").is_ok());
        for program in [
            "{ a: 1 }); f(); ({ b: 2 }",
            "{ a: 1 }), (f(), { b: 2 }",
            "{}) + ({}",
            "function () {}); f(); (function () {}",
            "function () {}), (f()",
        ] {
            assert_eq!(fault(program).kind, ErrorKind::Syntax, "{program}");
        }
    }

    #[test]
    fn the_deepest_programs_without_brackets_fit_the_stack() {
        on_large_stack(|| {
            for unit in [
                "!",
                "-",
                "typeof ",
                "await ",
                "new ",
                "a?.b.",
                "a=",
                "a=>",
                "a,",
                "a+",
                "a**",
                "a?a:",
                "a?a",
                "a??",
                "x:",
                "if(a)",
                "do ",
                "()=>",
                "async a=>",
                "[a]=",
                "a().",
                "<a>",
                "a<",
                "a<b,",
                "a as b|",
                "keyof ",
                "unique ",
                "asserts a is ",
                "new()=>",
                "class A extends ",
                "@a ",
                "<a,>()=>",
                "else if(a);",
            ] {
                for (prefix, last) in [("", "a"), ("let a: ", "a")] {
                    let room = PROGRAM_BYTES_MAX - prefix.len() - last.len();
                    let source = format!("{prefix}{}{last}", unit.repeat(room / unit.len()));
                    let _ = prepare(&source);
                }
            }
        });
    }

    #[test]
    fn brackets_nested_beyond_reason_are_refused_with_their_place() {
        for open in ["[", "(", "{", "a(", "`${", "<a>("] {
            let fault = fault(&open.repeat(100_000 / open.len()));
            assert_eq!(fault.kind, ErrorKind::Syntax, "{open}");
            assert!(
                fault.message.contains("nested"),
                "{open}: {}",
                fault.message
            );
            assert_eq!(fault.line, Some(1), "{open}");
        }
        assert!(on_large_stack(|| {
            prepare(&format!("{}{}", "[".repeat(1_900), "]".repeat(1_900))).is_ok()
        }));
    }
}
