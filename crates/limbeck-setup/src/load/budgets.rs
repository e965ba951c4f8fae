//! `[[budget]]` of `limbeck.toml`: how much calls and runs may use, and how fast calls may be made.
//!
//! The budgets of one file are read whole or not at all, as `[policy]` is. All that are about a call count beside each other, so
//! a repository's file can only tighten.

use limbeck_policy::Scope as ToolScope;
use limbeck_policy::budget::{
    BUDGETS_MAX, Bound, Budget, Dimension, LIMIT_MAX, OnExceed, Period, RATE_MAX, Rate, Unit,
};
use limbeck_policy::rules::Layer;

use super::Loader;
use super::open_file::OpenFile;
use super::policy::{class, layer_of, people, scope, without_directory};
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

/// Keys of `[[budget]]` besides the units.
const KEYS: &[&str] = &[
    "id",
    "tools",
    "except",
    "class",
    "who",
    "each",
    "rate",
    "burst",
    "per",
    "on_exceed",
    "reason",
    "calls",
    "writes",
    "bytes_sent",
    "bytes_received",
    "tokens",
    "cpu",
    "sampling",
    "sampling_tokens",
];
/// Hint of every error in this section.
const FORM: &str = "the accepted form is [[budget]] id = \"mail\", tools = [\"mail.*\"], per = \"day\", calls = 100; or rate = \"60/min\" in place of `per` and `calls`";
/// Longest processor time, in milliseconds: more than a month has on a large machine.
const CPU_MS_MAX: u64 = 1 << 40;

impl Loader<'_> {
    /// Reads the budgets of one file. A mistake in a file of the user stops calls, as one in its `[policy]` does: what it
    /// limits is not known.
    pub(super) fn read_budgets(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        let policy = &mut self.found.settings.policy;
        let read = budgets(file, place, &policy.budgets);
        match read {
            Ok(read) => {
                policy.budgets.extend(read);
                Ok(())
            }
            Err(error) => {
                let error = match error.hint {
                    Some(_) => error,
                    None => error.with_hint(FORM),
                };
                // A stranger's file must not stop the user's calls.
                if file.source.scope != EntryScope::Repository {
                    let finding = file.diagnostic(Severity::Error, error.clone());
                    policy.fault.get_or_insert(without_directory(&finding));
                }
                Err(error)
            }
        }
    }
}

fn budgets(
    file: &OpenFile<'_>,
    place: &ConfigPlace<'_>,
    before: &[Budget],
) -> Result<Vec<Budget>, ValueError> {
    let mut budgets: Vec<Budget> = Vec::new();
    for budget_place in place.list()? {
        // Here, and not when all files are joined: too many of a stranger must not stop the user's calls.
        if before.len() + budgets.len() >= BUDGETS_MAX {
            let problem = format!("more than {BUDGETS_MAX} budgets");
            return Err(budget_place.malformed(problem));
        }
        let budget = budget(file, &budget_place)?;
        let mut others = before.iter().chain(&budgets);
        if let Some(other) = others.find(|other| other.id == budget.id) {
            let problem = format!(
                "`{}` is the id of another budget ({})",
                budget.id, other.origin
            );
            return Err(budget_place.malformed(problem));
        }
        budgets.push(budget);
    }
    Ok(budgets)
}

fn budget(file: &OpenFile<'_>, place: &ConfigPlace<'_>) -> Result<Budget, ValueError> {
    let (mut id, mut rate, mut burst, mut per) = (None, None, None, None);
    let mut limits = Vec::new();
    let mut budget = Budget {
        id: String::new(),
        tools: ToolScope::everything(),
        except: None,
        classes: None,
        who: None,
        each: vec![Dimension::Principal],
        bound: Bound::Total {
            per: Period::Day,
            limits: Vec::new(),
        },
        on_exceed: OnExceed::default(),
        reason: None,
        layer: layer_of(file),
        counter: String::new(),
        origin: file.origin(place).to_string(),
    };
    for (key, value) in place.entries()? {
        match key {
            "id" => id = Some(value.text()?.to_owned()),
            "tools" => budget.tools = scope(&value)?,
            "except" => budget.except = Some(scope(&value)?),
            "class" => {
                budget.classes = Some(value.list()?.iter().map(class).collect::<Result<_, _>>()?);
            }
            "who" => budget.who = Some(people(&value)?),
            "each" => budget.each = dimensions(&value)?,
            "rate" => rate = Some((self::rate(&value)?, value)),
            "burst" => burst = Some((value.number(1, RATE_MAX)?, value)),
            "per" => per = Some((period(&value)?, value)),
            "on_exceed" => budget.on_exceed = on_exceed(&value)?,
            "reason" => budget.reason = Some(value.text()?.to_owned()),
            _ => match Unit::named(key) {
                Some(unit) => limits.push((unit, limit(unit, &value)?)),
                None => return Err(value.malformed_key(unknown_key(KEYS, key))),
            },
        }
    }
    budget.id = id.ok_or_else(|| place.malformed("a budget needs `id`"))?;
    // Two repositories may choose the same name, and must not use up what the other has.
    budget.counter = match budget.layer {
        Layer::Project => format!("{} {}", budget.id, file.source.path.display()),
        Layer::Managed | Layer::User | Layer::File => budget.id.clone(),
    };
    budget.bound = match (rate, burst, per) {
        (Some((rate, value)), burst, per) => {
            if per.is_some() || !limits.is_empty() {
                let problem = "a budget has a `rate`, or `per` and limits such as `calls`: write two budgets for both";
                return Err(value.malformed_key(problem));
            }
            Bound::Rate(Rate {
                burst: burst.map_or(rate.burst, |(burst, _)| burst),
                ..rate
            })
        }
        (None, Some((_, value)), _) => {
            return Err(value.malformed_key("`burst` is for a budget with a `rate`"));
        }
        (None, None, Some((per, _))) => Bound::Total { per, limits },
        (None, None, None) => {
            let problem = "a budget needs a `rate`, such as \"60/min\", or `per` (`run`, `day` or `month`) and a limit, such as `calls`";
            return Err(place.malformed(problem));
        }
    };
    budget
        .check()
        .map_err(|error| place.malformed(error.to_string()))?;
    Ok(budget)
}

/// A rate such as `60/min`.
fn rate(place: &ConfigPlace<'_>) -> Result<Rate, ValueError> {
    let expected = || {
        place.malformed(
            "expected a number of calls in a time, such as `2/s`, `60/min`, `100/h` or `1000/d`",
        )
    };
    let (calls, time) = place.text()?.split_once('/').ok_or_else(expected)?;
    let per_s = match time.trim() {
        "s" | "sec" | "second" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 60 * 60,
        "d" | "day" => 24 * 60 * 60,
        _ => return Err(expected()),
    };
    let calls = calls.trim();
    if !calls.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    let calls: u64 = calls.parse().map_err(|_| expected())?;
    if !(1..=RATE_MAX).contains(&calls) {
        return Err(expected());
    }
    Ok(Rate {
        calls,
        per_s,
        burst: calls,
    })
}

/// A limit. Processor time is a text with its unit.
fn limit(unit: Unit, place: &ConfigPlace<'_>) -> Result<u64, ValueError> {
    if unit != Unit::Cpu {
        return place.number(0, LIMIT_MAX);
    }
    let expected = || place.malformed("expected a time such as `500ms`, `90s`, `15m` or `2h`");
    let text = place.text()?;
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let unit = |(unit, ms): (&str, u64)| Some((text.strip_suffix(unit)?, ms));
    let (digits, unit_ms) = units.into_iter().find_map(unit).ok_or_else(expected)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    let count: u64 = digits.parse().map_err(|_| expected())?;
    let ms = count.checked_mul(unit_ms).filter(|ms| *ms <= CPU_MS_MAX);
    ms.ok_or_else(expected)
}

fn dimensions(place: &ConfigPlace<'_>) -> Result<Vec<Dimension>, ValueError> {
    let one = |value: &ConfigPlace<'_>| {
        Dimension::named(value.text()?)
            .ok_or_else(|| value.malformed("expected `principal`, `server`, `tool` or `class`"))
    };
    place.list()?.iter().map(one).collect()
}

fn period(place: &ConfigPlace<'_>) -> Result<Period, ValueError> {
    Period::named(place.text()?).ok_or_else(|| place.malformed("expected `run`, `day` or `month`"))
}

fn on_exceed(place: &ConfigPlace<'_>) -> Result<OnExceed, ValueError> {
    OnExceed::named(place.text()?)
        .ok_or_else(|| place.malformed("expected `queue`, `ask` or `deny`"))
}
