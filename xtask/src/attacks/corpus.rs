//! Programs of the corpus and their headers, which have the expected outcomes.
//!
//! The header is the run of `// key: value` lines that a file begins with, `# key: value` in Python. An unknown key is an
//! error, so that a misspelt expectation is not taken for the absence of one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::world::Facts;

/// Time a program gets when its header names none.
const TIMEOUT_MS: u64 = 10_000;

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Tries to reach something.
    Attack,
    /// Shows that reaching it would be detected.
    Control,
}

/// Language of a program, from the extension of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Typescript,
    Python,
}

impl Language {
    fn of(extension: &str) -> Option<Self> {
        match extension {
            "ts" => Some(Self::Typescript),
            "py" => Some(Self::Python),
            _ => None,
        }
    }

    /// Start of every line of a header.
    fn comment(self) -> &'static str {
        match self {
            Self::Typescript => "// ",
            Self::Python => "# ",
        }
    }
}

/// When the steps of an attack run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    InTurn,
    Together,
}

/// Way by which a program is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// The `execute` tool of a gateway that runs further attacks afterwards.
    Serve,
    /// `limbeck run --json`.
    Run,
}

/// Expected outcome of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expected {
    /// Exactly this value; `None` when it returns nothing.
    Value(Option<Value>),
    /// An error of one of these kinds.
    Error(Vec<String>),
    /// Any outcome that is the program's own fault: a program that breaks its interpreter may end in more than one way.
    Contained,
    /// The call of `execute` is refused before an execution starts.
    Refused,
    /// The output contains a canary; only for controls.
    Leak,
}

/// One program.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) program: String,
    pub(super) language: Language,
    pub(super) input: Option<Value>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) timeout_ms: u64,
    pub(super) via: Via,
    pub(super) expected: Expected,
    /// Parts that the error's message, a warning or printed text must have.
    pub(super) says: Vec<(Field, String)>,
    /// Texts that the answer must not have anywhere.
    pub(super) without: Vec<String>,
}

/// A text of the answer that a header may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Message,
    Warning,
    Stdout,
    Stderr,
}

/// One attack: a program, or two when the second looks for what the first left behind.
#[derive(Clone, Debug)]
pub(super) struct Attack {
    /// Path below `attacks/`, without the number of the step and the extension.
    pub(super) path: String,
    /// Its folder.
    pub(super) group: String,
    pub(super) role: Role,
    pub(super) order: Order,
    pub(super) steps: Vec<Step>,
}

/// Reads the corpus: one folder for each group, one file for each program.
pub(super) fn load(folder: &Path, facts: &Facts) -> anyhow::Result<Vec<Attack>> {
    let mut files = BTreeMap::new();
    for entry in sorted(folder)? {
        if entry.is_dir() {
            collect(&entry, &name_of(&entry)?, &mut files)?;
        }
    }
    let attacks = files
        .into_iter()
        .map(|((group, name), files)| attack(group, &name, &files, facts))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for group in attacks.iter().map(|attack| &attack.group) {
        let control = |attack: &Attack| attack.group == *group && attack.role == Role::Control;
        ensure!(attacks.iter().any(control), "group {group} has no control");
    }
    Ok(attacks)
}

/// The files of each attack, by its group and name.
type Files = BTreeMap<(String, String), Vec<PathBuf>>;

/// Adds the programs of a group and of the groups below it.
fn collect(folder: &Path, group: &str, files: &mut Files) -> anyhow::Result<()> {
    for entry in sorted(folder)? {
        let name = name_of(&entry)?;
        if entry.is_dir() {
            collect(&entry, &format!("{group}/{name}"), files)?;
            continue;
        }
        let stem = name
            .rsplit_once('.')
            .and_then(|(stem, extension)| Language::of(extension).map(|_| stem))
            .with_context(|| format!("{} is no program", entry.display()))?;
        let whole = stem.strip_suffix(".1").or(stem.strip_suffix(".2"));
        let key = (group.to_owned(), whole.unwrap_or(stem).to_owned());
        files.entry(key).or_default().push(entry);
    }
    Ok(())
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)
        .with_context(|| format!("read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> anyhow::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    Ok(name.context("a name that is not UTF-8")?.to_owned())
}

fn attack(group: String, name: &str, files: &[PathBuf], facts: &Facts) -> anyhow::Result<Attack> {
    let path = format!("{group}/{name}");
    let mut role = None;
    let mut order = Order::InTurn;
    let mut steps = Vec::new();
    for file in files {
        let text = facts.fill(&super::read(file)?);
        let language = file.extension().and_then(|extension| extension.to_str());
        let language = language.and_then(Language::of).context("no language")?;
        let read = read_step(&text, language).with_context(|| format!("{}", file.display()))?;
        ensure!(
            role.is_none_or(|role| role == read.role),
            "{path} is both an attack and a control"
        );
        role = Some(read.role);
        if read.together {
            order = Order::Together;
        }
        steps.push(read.step);
    }
    Ok(Attack {
        role: role.context("an attack without programs")?,
        path,
        group,
        order,
        steps,
    })
}

struct Read {
    role: Role,
    together: bool,
    step: Step,
}

/// Reads one file.
fn read_step(text: &str, language: Language) -> anyhow::Result<Read> {
    let (mut role, mut property, mut expected) = (None, None, None);
    let mut together = false;
    let mut step = Step {
        program: text.to_owned(),
        language,
        input: None,
        tools: None,
        timeout_ms: TIMEOUT_MS,
        via: Via::Serve,
        expected: Expected::Refused,
        says: Vec::new(),
        without: Vec::new(),
    };
    for line in text.lines() {
        let Some((key, value)) = line
            .strip_prefix(language.comment())
            .and_then(|line| line.split_once(": "))
        else {
            break;
        };
        match key {
            "attack" => role = Some(Role::Attack),
            "control" => role = Some(Role::Control),
            "property" => property = Some(property_number(value)?),
            "expect" => expected = Some(expectation(value)?),
            "input" => step.input = Some(json(value)?),
            "tools" => step.tools = Some(serde_json::from_value(json(value)?)?),
            "timeout_ms" => step.timeout_ms = value.parse().context("timeout_ms")?,
            "via" => step.via = via(value)?,
            "order" => together = value == "together",
            "build" => step.program = build(value)?,
            "message" => step.says.push((Field::Message, value.to_owned())),
            "warning" => step.says.push((Field::Warning, value.to_owned())),
            "stdout" => step.says.push((Field::Stdout, value.to_owned())),
            "stderr" => step.says.push((Field::Stderr, value.to_owned())),
            "without" => step.without.push(value.to_owned()),
            _ => bail!("unknown header `{key}`"),
        }
    }
    property.context("no `property`")?;
    step.expected = expected.context("no `expect`")?;
    let role = role.context("neither `attack` nor `control`")?;
    ensure!(
        step.expected != Expected::Leak || role == Role::Control,
        "only a control may expect a leak"
    );
    ensure!(
        step.expected != Expected::Contained || role == Role::Attack,
        "a control that may end in any way shows nothing"
    );
    Ok(Read {
        role,
        together,
        step,
    })
}

/// The properties of the threat model that concern programs are S01 to S59.
fn property_number(value: &str) -> anyhow::Result<u32> {
    let number = value
        .strip_prefix('S')
        .and_then(|digits| digits.parse().ok());
    number
        .filter(|number| (1..=59).contains(number))
        .with_context(|| format!("no property `{value}`"))
}

fn expectation(value: &str) -> anyhow::Result<Expected> {
    Ok(match value.split_once(' ').unwrap_or((value, "")) {
        ("value", text) => Expected::Value(Some(json(text)?)),
        ("nothing", "") => Expected::Value(None),
        ("error", kinds) if !kinds.is_empty() => {
            Expected::Error(kinds.split('|').map(str::to_owned).collect())
        }
        ("contained", "") => Expected::Contained,
        ("refused", "") => Expected::Refused,
        ("leak", "") => Expected::Leak,
        _ => bail!("unknown expectation `{value}`"),
    })
}

fn via(value: &str) -> anyhow::Result<Via> {
    match value {
        "serve" => Ok(Via::Serve),
        "run" => Ok(Via::Run),
        _ => bail!("no door `{value}`"),
    }
}

/// A program that is too long or too unusual for a file: `[[TEXT, TIMES], …]`.
fn build(value: &str) -> anyhow::Result<String> {
    let parts: Vec<(String, usize)> = serde_json::from_str(value).context("build")?;
    let bytes: usize = parts.iter().map(|(text, times)| text.len() * times).sum();
    ensure!(bytes <= 4 << 20, "a program of {bytes} bytes");
    Ok(parts
        .iter()
        .map(|(text, times)| text.repeat(*times))
        .collect())
}

fn json(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| format!("`{text}` is no JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_a_misspelt_one_is_refused() {
        let text = "// attack: none\n// property: S06\n// expect: error timeout|memory_limit\n\
                    // timeout_ms: 300\n// input: [1]\nreturn 1 // expect: value 1\n";
        let read = read_step(text, Language::Typescript).unwrap();
        assert_eq!(read.role, Role::Attack);
        assert_eq!(read.step.timeout_ms, 300);
        assert_eq!(read.step.program, text);
        let kinds = ["timeout", "memory_limit"].map(str::to_owned);
        assert_eq!(read.step.expected, Expected::Error(kinds.to_vec()));

        for (bad, part) in [
            (text.replace("expect:", "expects:"), "expects"),
            (text.replace("S06", "S99"), "S99"),
            (text.replace("// attack: none\n", ""), "neither"),
            (text.replace("error ", "eror "), "eror"),
        ] {
            let read = read_step(&bad, Language::Typescript);
            let error = format!("{:#}", read.err().unwrap());
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_header_of_python_begins_with_its_own_comments() {
        let text = "# attack: none\n# property: S06\n# expect: value 1\n# not: a key\nreturn 1\n";
        let python = |text: &str| read_step(text, Language::Python);
        let error = format!("{:#}", python(text).err().unwrap());
        assert!(error.contains("unknown header `not`"), "{error}");

        let text = text.replace("# not: a key\n", "#: a comment\n");
        let step = python(&text).unwrap().step;
        assert_eq!(step.language, Language::Python);
        assert_eq!(step.program, text);
        assert!(read_step(&text, Language::Typescript).is_err());
    }

    #[test]
    fn programs_of_both_languages_are_found_in_folders_of_folders() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a");
        fs::create_dir(&below).unwrap();
        for name in ["x.1.py", "x.2.ts", "y.py"] {
            fs::write(below.join(name), "").unwrap();
        }
        let mut files = Files::new();
        collect(folder.path(), "python", &mut files).unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|((group, name), files)| (group.as_str(), name.as_str(), files.len()))
            .collect();
        assert_eq!(found, [("python/a", "x", 2), ("python/a", "y", 1)]);

        fs::write(below.join("notes.txt"), "").unwrap();
        assert!(collect(folder.path(), "python", &mut files).is_err());
    }

    #[test]
    fn a_program_is_built_from_parts() {
        assert_eq!(build(r#"[["ab", 2], ["\u0000", 1]]"#).unwrap(), "abab\0");
        assert!(build(r#"[["a", 9999999]]"#).is_err());
    }
}
