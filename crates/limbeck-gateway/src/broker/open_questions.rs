//! Questions about a program that its check leaves open, and that its results and its end answer: whether the parts that it
//! reads are there, and whether it makes its calls.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use limbeck_catalog::{ResultReads, WrittenCall};
use limbeck_domain::{Site, Sites, ToolId, ToolTarget};

/// Different heads of calls that are kept; a program with more is not warned of calls that it did not make.
const MADE_MAX: usize = 256;
/// Calls that were not made, and tools that are named and not called, in warnings.
const UNMADE_MAX: usize = 3;

/// What a program that completed gave its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// A value with content, or printed text, or blocks.
    Something,
    /// A value without content.
    EmptyValue,
    /// No value, no printed text and no blocks.
    Nothing,
}

/// Open questions of one program. It is checked once, so they are set once.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    asked: OnceLock<Asked>,
}

/// Sentences of a check.
#[derive(Debug)]
pub(super) struct OpenFindings {
    /// Its warnings, which are lost where the worker does not report an end.
    pub(super) said: Vec<String>,
    /// Properties that the program reads and that the types of results do not list.
    pub(super) doubts: Vec<String>,
    /// Loops that write and whose headers have no end condition.
    pub(super) of_endless: Vec<String>,
}

#[derive(Debug)]
struct Asked {
    open: OpenFindings,
    /// Reads to look up in the results; `None` without any.
    reads: Option<Mutex<ResultReads>>,
    calls: Option<WrittenCalls>,
    /// Calls that no condition of the program decides about.
    written: Vec<WrittenCall>,
    /// Places where a tool is named and not called, by line.
    named: Vec<u32>,
    /// Heads of the calls that the program made, each once.
    made: Mutex<HashSet<String>>,
}

/// Calls of tools that are written in the program.
#[derive(Clone, Copy, Debug)]
struct WrittenCalls {
    /// Line of the first.
    line: u32,
    count: usize,
    /// Whether all of them are in functions that nothing mentions.
    idle: bool,
}

impl OpenQuestions {
    pub(super) fn ask(
        &self,
        sites: &Sites,
        open: OpenFindings,
        reads: ResultReads,
        written: Vec<WrittenCall>,
    ) {
        let asked = Asked {
            open,
            reads: (!reads.is_empty()).then(|| Mutex::new(reads)),
            calls: WrittenCalls::of(&sites.sites),
            written,
            named: sites.named.iter().map(|named| named.line).collect(),
            made: Mutex::default(),
        };
        // Only the first check of a program counts.
        let _ = self.asked.set(asked);
    }

    /// Looks at the value of a result, JSON text, as far as a read of it is open.
    pub(super) fn see(&self, tool: &ToolId, value: &str) {
        if let Some(reads) = self.asked.get().and_then(|asked| asked.reads.as_ref()) {
            locked(reads).see(tool, value);
        }
    }

    /// What a program has to know that failed.
    pub(super) fn answers_of_failed(&self) -> Vec<String> {
        let reads = self.asked.get().and_then(|asked| asked.reads.as_ref());
        reads.map_or_else(Vec::new, |reads| locked(reads).raw_reads())
    }

    pub(super) fn answers_of_endless(&self) -> Vec<String> {
        let Some(asked) = self.asked.get() else {
            return Vec::new();
        };
        let mut answers = asked.open.said.clone();
        answers.extend(asked.open.of_endless.iter().cloned());
        if let Some(reads) = &asked.reads {
            answers.extend(locked(reads).all());
        }
        answers
    }

    /// Notes a call that the program makes, by its head.
    pub(super) fn note_made(&self, head: &str) {
        if let Some(asked) = self.asked.get()
            && !asked.written.is_empty()
        {
            let mut made = asked.made.lock().unwrap_or_else(PoisonError::into_inner);
            if made.len() < MADE_MAX && !made.contains(head) {
                made.insert(head.to_owned());
            }
        }
    }

    /// `resolve` gives the tools of calls that were made.
    pub(super) fn answers(
        &self,
        calls: u32,
        shows: Shows,
        resolve: impl FnOnce(&[ToolTarget]) -> HashSet<ToolId>,
    ) -> Vec<String> {
        let Some(asked) = self.asked.get() else {
            return Vec::new();
        };
        let mut answers = Vec::new();
        let mut doubts = Vec::new();
        if let Some(reads) = &asked.reads {
            let reads = locked(reads);
            answers.extend(reads.warnings());
            doubts.extend(reads.doubts());
        }
        if shows != Shows::Something {
            // What a result has says more than what a type lists.
            let said = |line: &str| {
                answers
                    .iter()
                    .chain(&doubts)
                    .any(|other| place(other) == place(line))
            };
            let listed = asked.open.doubts.iter().filter(|doubt| !said(doubt));
            let listed: Vec<String> = listed.cloned().collect();
            answers.extend(doubts);
            answers.extend(listed);
        }
        answers.extend(asked.named.iter().take(UNMADE_MAX).map(|line| {
            format!("line {line}: a tool is named here and not called: write `(…)` with its arguments behind it")
        }));
        let unmade = match calls {
            0 => asked.calls.and_then(|calls| calls.unmade(shows)),
            _ => None,
        };
        match unmade {
            Some(unmade) => answers.push(unmade),
            None => answers.extend(asked.unmade(calls, resolve)),
        }
        // Each is said once: a line may read a part in several places.
        let mut new: Vec<String> = Vec::new();
        for answer in answers {
            let mut before = asked.open.said.iter().chain(&new);
            if !before.any(|before| says(before, &answer)) {
                new.push(answer);
            }
        }
        new
    }
}

impl Asked {
    /// The calls that the program means to make and did not. Of a program that made none, all of which no condition decides.
    fn unmade(
        &self,
        calls: u32,
        resolve: impl FnOnce(&[ToolTarget]) -> HashSet<ToolId>,
    ) -> Vec<String> {
        let expected = self
            .written
            .iter()
            .filter(|call| call.is_certain || calls == 0);
        let expected: Vec<&WrittenCall> = expected.collect();
        if expected.is_empty() {
            return Vec::new();
        }
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= MADE_MAX {
            return Vec::new();
        }
        let heads = made
            .iter()
            .filter_map(|head| serde_json::from_str(head).ok());
        let heads: Vec<ToolTarget> = heads.collect();
        let made = resolve(&heads);
        let mut named = HashSet::new();
        let unmade = expected
            .into_iter()
            .filter(|call| !made.contains(&call.tool) && named.insert(&call.tool));
        let unmade = unmade.take(UNMADE_MAX).map(|call| {
            format!(
                "line {}: `{}` was not called, and no condition of the program decides about it: call the function and iterate the generator that it is in, and `await` what must be done before the end",
                call.line, call.expression
            )
        });
        unmade.collect()
    }
}

/// Whether two sentences say the same, apart from their hints.
fn says(one: &str, other: &str) -> bool {
    message(one) == message(other)
}

/// What is before the hint of a sentence.
fn message(sentence: &str) -> &str {
    sentence.split("; ").next().unwrap_or(sentence)
}

/// The line that a sentence begins with.
fn place(sentence: &str) -> &str {
    sentence.split(':').next().unwrap_or(sentence)
}

fn locked(reads: &Mutex<ResultReads>) -> MutexGuard<'_, ResultReads> {
    reads.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WrittenCalls {
    fn of(sites: &[Site]) -> Option<Self> {
        let line = sites.iter().map(|site| site.line).min()?;
        Some(Self {
            line,
            count: sites.len(),
            idle: sites.iter().all(|site| site.idle),
        })
    }

    /// The warning of a program that made none of its calls. Where they are in branches, that may be right.
    fn unmade(self, shows: Shows) -> Option<String> {
        let calls = match self.count {
            1 => format!("the call of a tool in line {} was not made", self.line),
            count => format!(
                "none of the {count} calls of tools from line {} on was made",
                self.line
            ),
        };
        if self.idle {
            return Some(format!(
                "{calls}: nothing in the program calls the function that it is in, so call that and `await` it"
            ));
        }
        (shows == Shows::Nothing).then(|| {
            format!("{calls}, and the program returned and printed nothing: call the functions that it defines and `return` what they give")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(calls: &[(u32, bool)]) -> OpenQuestions {
        let sites = calls.iter().map(|(line, idle)| {
            serde_json::json!({"line": line, "column": 1, "tool": "t", "server": "s", "complete": true, "idle": idle})
        });
        let sites = serde_json::json!({ "sites": sites.collect::<Vec<_>>() }).to_string();
        let sites = Sites::parse(&sites).unwrap();
        let catalog = limbeck_catalog::Catalog::new(Vec::new());
        let reads = catalog.result_reads(&sites, limbeck_domain::Language::Typescript);
        let questions = OpenQuestions::default();
        let open = OpenFindings {
            said: Vec::new(),
            doubts: vec!["line 2: a doubt".to_owned()],
            of_endless: Vec::new(),
        };
        questions.ask(&sites, open, reads, Vec::new());
        questions
    }

    #[test]
    fn what_the_check_said_is_not_said_again_with_another_hint() {
        let checked = "line 2: `r` has no property `a`; available properties: `b`";
        assert!(says(
            checked,
            "line 2: `r` has no property `a`; available properties: `c`"
        ));
        assert!(!says(
            checked,
            "line 3: `r` has no property `a`; available properties: `b`"
        ));
    }

    #[test]
    fn each_sentence_is_said_once() {
        let sites = Sites::parse(r#"{"sites":[]}"#).unwrap();
        let reads = limbeck_catalog::Catalog::new(Vec::new());
        let reads = reads.result_reads(&sites, limbeck_domain::Language::Typescript);
        let questions = OpenQuestions::default();
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let open = OpenFindings {
            said: lines(&["line 1: said; a hint"]),
            doubts: lines(&[
                "line 1: said; another hint",
                "line 2: new",
                "line 2: new",
                "line 3: new",
            ]),
            of_endless: lines(&["line 4: a loop"]),
        };
        questions.ask(&sites, open, reads, Vec::new());
        let answers = questions.answers(1, Shows::EmptyValue, |_| HashSet::new());
        assert_eq!(answers, ["line 2: new", "line 3: new"]);
        // A loop explains a program that a limit ended.
        let endless = questions.answers_of_endless();
        assert_eq!(endless, ["line 1: said; a hint", "line 4: a loop"]);
        assert_eq!(questions.answers_of_failed(), [""; 0]);
    }

    #[test]
    fn a_program_that_made_none_of_its_calls_is_warned_where_that_is_surely_wrong() {
        let idle =
            questions(&[(3, true), (2, true)]).answers(0, Shows::Something, |_| HashSet::new());
        assert_eq!(
            idle,
            [
                "none of the 2 calls of tools from line 2 on was made: nothing in the program calls the function that it is in, so call that and `await` it"
            ]
        );
        let silent = questions(&[(3, false)])
            .answers(0, Shows::Nothing, |_| HashSet::new())
            .join("\n");
        assert!(
            silent.contains("the call of a tool in line 3 was not made"),
            "{silent}"
        );
        // The controls: a call in a branch beside a value, a call that was made, and a program without calls.
        assert_eq!(
            questions(&[(3, true), (2, false)]).answers(0, Shows::Something, |_| HashSet::new()),
            [""; 0]
        );
        assert_eq!(
            questions(&[(3, true)]).answers(1, Shows::Something, |_| HashSet::new()),
            [""; 0]
        );
        assert_eq!(
            questions(&[]).answers(0, Shows::Nothing, |_| HashSet::new()),
            ["line 2: a doubt"]
        );
    }
}
