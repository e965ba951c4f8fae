//! Mutation test of the check: correct calls of published tools, and the same calls with one mistake.
//!
//! Each call of [`calls`] is part of a program with four calls, in common styles ([`written`]) and both languages. The
//! correct programs must have no errors. Then each kind of mistake ([`kinds`]) is made in one call, and the check must
//! report it on its line and nothing on another line. The outcome is the table of `docs/internals/performance.md`:
//!
//! ```sh
//! cargo nextest run --release --workspace --no-capture mutations
//! ```
//!
//! The line of every mistake that is not reported is printed too.

#![allow(clippy::print_stdout, reason = "the rates are what is reported")]

mod calls;
mod kinds;
mod python;
mod typescript;
mod written;

use std::collections::BTreeMap;

use futures::StreamExt as _;
use limbeck_captures::{captures, values::Rng};
use limbeck_catalog::{Catalog, Finding, FindingKind, ServerTools};
use limbeck_domain::{Language, Mode};
use limbeck_gateway::{Examination, Gateway};
use limbeck_launcher::PoolSize;
use limbeck_testkit::{FakeServer, World, python_request, request};
use tokio_util::sync::CancellationToken;

use self::calls::{Call, correct, spread};
use self::kinds::{Kind, Place};
use self::written::{Frame, Program, Style, Written, program};
use crate::gateway::worker;

/// Calls in one program.
const CALLS: usize = 4;
/// Mutants of one kind, in one language.
const MUTANTS_MAX: usize = 120;
/// Programs that are judged at the same time.
const AT_ONCE: usize = 4;

const LANGUAGES: [Language; 2] = [Language::Typescript, Language::Python];

/// Least percentage of mutants that must be found, in TypeScript and in Python, as measured.
const FLOORS: [(Kind, [usize; 2]); 13] = [
    (Kind::MisspeltTool, [100, 100]),
    (Kind::MisspeltServer, [100, 100]),
    (Kind::OtherServersTool, [100, 100]),
    (Kind::MissingArgument, [100, 100]),
    (Kind::MisspeltArgument, [100, 100]),
    (Kind::UnknownArgument, [100, 100]),
    (Kind::MisspeltArgumentTaken, [100, 100]),
    (Kind::WrongType, [100, 100]),
    (Kind::OutOfEnum, [100, 100]),
    (Kind::Positional, [99, 95]),
    (Kind::MissingAwait, [100, 100]),
    (Kind::ExcludedRead, [100, 100]),
    (Kind::EndlessWrite, [100, 100]),
];

/// Correct calls of one program.
struct Chunk<'c> {
    calls: Vec<&'c Call>,
    written: Vec<Written>,
    /// Second calls for styles with two calls, correct as well.
    beside: Vec<Written>,
    frame: Frame,
}

impl<'c> Chunk<'c> {
    fn new(number: usize, calls: &[&'c Call], language: Language) -> Self {
        // Each call has another style in each language.
        let shift = match language {
            Language::Typescript => 0,
            Language::Python => 3,
        };
        let written: Vec<Written> = (number * CALLS..)
            .zip(calls)
            .map(|(index, call)| {
                let style =
                    Style::ALL[(index + index / Style::ALL.len() + shift) % Style::ALL.len()];
                Written::new(call, style, number + index)
            })
            .collect();
        let mut beside = written.clone();
        beside.rotate_left(1);
        for (at, beside) in beside.iter_mut().enumerate() {
            *beside = Written::new(calls[(at + 1) % calls.len()], Style::Const, beside.taste);
        }
        Self {
            calls: calls.to_vec(),
            written,
            beside,
            frame: Frame::ALL[number % Frame::ALL.len()],
        }
    }

    fn program(&self, language: Language) -> Program {
        program(language, self.frame, &self.written, &self.beside)
    }

    /// Program with `call` in place of the call at index `at`.
    fn with(&self, at: usize, call: &Written, language: Language) -> Program {
        let mut written = self.written.clone();
        written[at] = call.clone();
        program(language, self.frame, &written, &self.beside)
    }
}

/// Program with one mistake.
struct Mutant {
    kind: Kind,
    program: String,
    /// Line on which it must be reported.
    line: u32,
    style: Style,
}

fn mutants(chunks: &[Chunk<'_>], catalog: &Catalog, language: Language) -> Vec<Mutant> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let mut random = Rng::new(kind as u64);
        let mut of_kind = Vec::new();
        for chunk in chunks {
            let place = Place {
                catalog,
                language,
                frame: chunk.frame,
            };
            for (at, call) in chunk.calls.iter().enumerate() {
                let wrong = kind.of(&chunk.written[at], call, place, &mut random);
                of_kind.extend(wrong.map(|wrong| (chunk, at, wrong)));
            }
        }
        for (chunk, at, wrong) in spread(&of_kind, MUTANTS_MAX) {
            let program = chunk.with(at, &wrong, language);
            let (call, read) = program.places[at];
            all.push(Mutant {
                kind,
                line: if kind == Kind::ExcludedRead {
                    read
                } else {
                    call
                },
                program: program.text,
                style: wrong.style,
            });
        }
    }
    all
}

async fn examine(gateway: &Gateway, language: Language, program: &str) -> Examination {
    let request = match language {
        Language::Typescript => request(program),
        Language::Python => python_request(program),
    };
    let cancel = CancellationToken::new();
    let examined = gateway.examine(request, Mode::Check, &cancel).await;
    examined.unwrap_or_else(|error| panic!("{error:?}\n{program}"))
}

/// Checks all `programs`, in their order.
async fn examine_all(
    gateway: &Gateway,
    language: Language,
    programs: impl Iterator<Item = &str>,
) -> Vec<Examination> {
    futures::stream::iter(programs)
        .map(|program| examine(gateway, language, program))
        .buffered(AT_ONCE)
        .collect()
        .await
}

/// Whether a warning is the one of a kind of mistake.
fn warns_of(kind: Kind, finding: &Finding) -> bool {
    let wanted = match kind {
        Kind::EndlessWrite => FindingKind::EndlessWrite,
        _ => FindingKind::Arguments,
    };
    kind.is_warned_of() && finding.kind == wanted
}

fn is_detected(mutant: &Mutant, examined: &Examination) -> bool {
    let is_here = |finding: &&Finding| finding.line == mutant.line;
    let mut warnings = examined.findings.warnings.iter().filter(is_here);
    examined.findings.errors.iter().any(|error| is_here(&error))
        || warnings.any(|warning| warns_of(mutant.kind, warning))
}

/// A line of a program, from 1.
fn line_of(program: &str, line: u32) -> &str {
    let at = line as usize - 1;
    program.lines().nth(at).unwrap_or_default().trim()
}

#[tokio::test(flavor = "multi_thread")]
async fn correct_calls_have_no_errors_and_mistakes_in_them_are_told_as_often_as_measured() {
    let captures = captures();
    let servers = captures.iter();
    let servers = servers.map(|one| ServerTools::new(one.name(), one.definitions(), None));
    let catalog = Catalog::new(servers.collect());
    let calls = correct(&catalog);
    let used: std::collections::BTreeSet<_> = calls
        .iter()
        .map(|call| call.tool.id().server.clone())
        .collect();
    println!("{} correct calls of {} servers", calls.len(), used.len());
    assert!(calls.len() >= 300, "{}", calls.len());
    assert_eq!(used.len(), captures.len());
    // The calls of one program belong to several servers.
    let rows = calls.len().div_ceil(CALLS);
    let order: Vec<&Call> = (0..rows)
        .flat_map(|row| calls.iter().skip(row).step_by(rows))
        .collect();

    let mut world = World::new(worker()).pool(PoolSize {
        ready: AT_ONCE,
        starting: 2,
    });
    for capture in &captures {
        world = world.server(&FakeServer::captured(capture).share());
    }
    let gateway = world.start().await;

    let mut rates: BTreeMap<Kind, [(usize, usize); 2]> = BTreeMap::new();
    let mut false_errors = Vec::new();
    for (column, language) in LANGUAGES.into_iter().enumerate() {
        let chunks: Vec<Chunk<'_>> = order
            .chunks(CALLS)
            .enumerate()
            .map(|(number, calls)| Chunk::new(number, calls, language))
            .collect();
        let programs: Vec<Program> = chunks.iter().map(|chunk| chunk.program(language)).collect();
        let texts = programs.iter().map(|program| program.text.as_str());
        let examined = examine_all(&gateway, language, texts).await;
        let mut warned = 0;
        for (program, examined) in programs.iter().zip(&examined) {
            if !examined.ok {
                false_errors.push(format!("{}\n{:?}", program.text, examined.findings));
            }
            if let Some(warning) = examined.findings.warnings.first() {
                warned += 1;
                println!(
                    "warned of: {} ({})",
                    line_of(&program.text, warning.line),
                    warning.message
                );
            }
        }
        println!(
            "{language:?}: {} correct programs, {warned} with warnings",
            programs.len()
        );

        let mutants = mutants(&chunks, &catalog, language);
        let texts = mutants.iter().map(|mutant| mutant.program.as_str());
        let examined = examine_all(&gateway, language, texts).await;
        for (mutant, examined) in mutants.iter().zip(&examined) {
            let (all, found) = &mut rates.entry(mutant.kind).or_default()[column];
            *all += 1;
            if is_detected(mutant, examined) {
                *found += 1;
            } else {
                let line = line_of(&mutant.program, mutant.line);
                println!(
                    "not reported: {}, {:?}: {line}",
                    mutant.kind.words(),
                    mutant.style
                );
            }
            // A mistake in one call must not be reported for another.
            let elsewhere = |error: &&Finding| error.line != mutant.line;
            if let Some(error) = examined.findings.errors.iter().find(elsewhere) {
                let text = format!("{:?} line {}: {error:?}", mutant.kind, mutant.line);
                false_errors.push(format!("{}\n{text}", mutant.program));
            }
        }
    }
    gateway.shutdown().await;

    print_table(&rates);
    assert!(
        false_errors.is_empty(),
        "{} false errors, such as\n{}",
        false_errors.len(),
        false_errors[0]
    );
    for (kind, floors) in FLOORS {
        for (floor, (all, found)) in floors.into_iter().zip(rates[&kind]) {
            assert!(
                found * 100 >= floor * all,
                "{kind:?}: {found} of {all}, {floor} in a hundred before"
            );
        }
    }
}

fn print_table(rates: &BTreeMap<Kind, [(usize, usize); 2]>) {
    println!("| mistake | TypeScript: mutants | reported | | Python: mutants | reported | |");
    println!("|---|---|---|---|---|---|---|");
    for (kind, columns) in rates {
        let columns =
            columns.map(|(all, found)| format!("{all} | {found} | {} %", 100 * found / all.max(1)));
        println!("| {} | {} |", kind.words(), columns.join(" | "));
    }
}
