//! Tools of one server, and the lookup of their names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId, ToolRules};

use crate::names;
use crate::observed::Observed;
use crate::tool::Tool;

/// Most bytes of the line that describes a server.
const LINE_BYTES_MAX: usize = 120;
/// Tools named in the line of a server without instructions.
const LINE_TOOLS_MAX: usize = 4;

/// The tools of one server, in the order the server listed them. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct ServerTools {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: ServerName,
    instructions: Option<String>,
    tools: Vec<Arc<Tool>>,
    names: Arc<NameIndex>,
    /// Names of tools that the server's entry switches off.
    switched_off: Arc<[Arc<str>]>,
    /// Names of tools that are held, because their definition is not the one that was accepted.
    held: Arc<[Arc<str>]>,
    /// Names of all tools of the server's list, those that are switched off or outside of a scope included: numbers of
    /// names count them.
    listed: Arc<[Arc<str>]>,
    /// Whether a list of the server is known, even one without tools.
    is_listed: bool,
}

/// Positions of tools in the list, by the forms of their names.
#[derive(Debug, Default)]
struct NameIndex {
    exact: HashMap<Arc<str>, usize>,
    identifiers: HashMap<String, Vec<usize>>,
    folds: HashMap<String, Vec<usize>>,
}

/// Result of looking up a name in any style.
#[derive(Debug)]
pub(crate) enum Match<T> {
    /// The exact name.
    Exact(T),
    /// Another style of exactly one name.
    Alias(T),
    /// Another style of several names.
    Many(Vec<T>),
    None,
}

/// Why a tool of a server is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// The entry of its server switches it off.
    ByEntry,
    /// Its definition is not the one that was accepted.
    Held,
}

impl ServerTools {
    /// Takes a server's list. Of several tools with the same name the first is kept.
    pub fn new(
        name: ServerName,
        definitions: Vec<ToolDefinition>,
        instructions: Option<String>,
    ) -> Self {
        let mut tools = Vec::with_capacity(definitions.len());
        let mut names = NameIndex::default();
        for definition in definitions {
            if names.add(&definition.id.tool, tools.len()) {
                tools.push(Arc::new(Tool::new(definition)));
            }
        }
        let listed = tools.iter().map(|tool| Arc::clone(&tool.id().tool));
        Self {
            inner: Arc::new(Inner {
                name,
                instructions,
                listed: listed.collect(),
                tools,
                names: Arc::new(names),
                switched_off: Arc::default(),
                held: Arc::default(),
                is_listed: true,
            }),
        }
    }

    /// Takes a server whose list was never received: it may have any tool.
    pub fn unlisted(name: ServerName) -> Self {
        Self {
            inner: Arc::new(Inner {
                name,
                instructions: None,
                tools: Vec::new(),
                names: Arc::default(),
                switched_off: Arc::default(),
                held: Arc::default(),
                listed: Arc::default(),
                is_listed: false,
            }),
        }
    }

    /// Takes a server's list without the tools that its entry switches off. A call of one of them is refused as such.
    pub fn allowed_by(
        rules: &ToolRules,
        name: ServerName,
        definitions: Vec<ToolDefinition>,
        instructions: Option<String>,
    ) -> Self {
        if rules.allow_everything() {
            return Self::new(name, definitions, instructions);
        }
        let listed: Arc<[Arc<str>]> = {
            let mut seen = HashSet::new();
            let all = definitions.iter().map(|definition| &definition.id.tool);
            all.filter(|tool| seen.insert(*tool)).cloned().collect()
        };
        let (allowed, off): (Vec<_>, Vec<_>) = definitions
            .into_iter()
            .partition(|definition| rules.allows(&definition.id.tool));
        let list = Self::new(name, allowed, instructions);
        let switched_off = off.into_iter().map(|definition| definition.id.tool);
        let inner = &*list.inner;
        Self {
            inner: Arc::new(Inner {
                name: inner.name.clone(),
                instructions: inner.instructions.clone(),
                tools: inner.tools.clone(),
                names: Arc::clone(&inner.names),
                switched_off: switched_off.collect(),
                held: Arc::default(),
                listed,
                is_listed: true,
            }),
        }
    }

    /// Names of the tools that the server's entry switches off.
    pub fn switched_off(&self) -> &[Arc<str>] {
        &self.inner.switched_off
    }

    /// Names of the tools that are held.
    pub fn held(&self) -> &[Arc<str>] {
        &self.inner.held
    }

    /// The server without the tools in `held`. A call of one of them is refused as such, and its name is that of no other
    /// tool. The hints of the tools for which `hints` returns some are replaced by those.
    #[must_use]
    pub fn holding(
        &self,
        held: &HashSet<Arc<str>>,
        hints: impl Fn(&ToolId) -> Option<ToolAnnotations>,
    ) -> Self {
        let mut list = self.only(&|tool: &ToolId| !held.contains(&tool.tool));
        if let Some(inner) = Arc::get_mut(&mut list.inner) {
            for tool in &mut inner.tools {
                if let Some(hints) = hints(tool.id()) {
                    *tool = Arc::new(tool.with_annotations(hints));
                }
            }
            let names = self.tools().iter().map(|tool| &tool.id().tool);
            inner.held = names.filter(|name| held.contains(*name)).cloned().collect();
        }
        list
    }

    /// Why the tool with exactly this name is not used, where it is not.
    pub(crate) fn off_exactly(&self, name: &str) -> Option<Off> {
        if self.held().iter().any(|tool| **tool == *name) {
            return Some(Off::Held);
        }
        let mut switched_off = self.switched_off().iter();
        switched_off
            .any(|tool| **tool == *name)
            .then_some(Off::ByEntry)
    }

    /// Whether the tool with exactly this name is switched off or held.
    pub(crate) fn has_switched_off(&self, name: &str) -> bool {
        self.off_exactly(name).is_some()
    }

    /// Why the tool that `name` is, in any style, is not used, where it is not.
    pub(crate) fn off(&self, name: &str) -> Option<Off> {
        if let Some(off) = self.off_exactly(name) {
            return Some(off);
        }
        if self.held().iter().any(|tool| is_style(tool, name)) {
            return Some(Off::Held);
        }
        if self.switched_off().iter().any(|tool| is_style(tool, name)) {
            return Some(Off::ByEntry);
        }
        self.numbered(name).and_then(|tool| self.off_exactly(tool))
    }

    /// Whether `name` is a tool that is switched off or held, in any style.
    pub(crate) fn is_switched_off(&self, name: &str) -> bool {
        self.off(name).is_some()
    }

    /// Keeps only the tools for which `keep` returns true.
    pub(crate) fn only(&self, keep: &impl Fn(&ToolId) -> bool) -> Self {
        let kept = self.tools().iter().filter(|tool| keep(tool.id()));
        let tools: Vec<Arc<Tool>> = kept.map(Arc::clone).collect();
        let mut names = NameIndex::default();
        for (at, tool) in tools.iter().enumerate() {
            names.add(&tool.id().tool, at);
        }
        Self {
            inner: Arc::new(Inner {
                name: self.inner.name.clone(),
                instructions: self.inner.instructions.clone(),
                tools,
                names: Arc::new(names),
                switched_off: Arc::clone(&self.inner.switched_off),
                held: Arc::clone(&self.inner.held),
                listed: Arc::clone(&self.inner.listed),
                is_listed: self.inner.is_listed,
            }),
        }
    }

    /// Replaces the observations of the tools for which `observed` returns some.
    pub fn with_observations(&self, observed: impl Fn(&Tool) -> Option<Observed>) -> Self {
        let taught = |tool: &Arc<Tool>| match observed(tool) {
            Some(observed) => Arc::new(tool.with_observations(observed)),
            None => Arc::clone(tool),
        };
        let inner = &*self.inner;
        Self {
            inner: Arc::new(Inner {
                name: inner.name.clone(),
                instructions: inner.instructions.clone(),
                tools: inner.tools.iter().map(taught).collect(),
                names: Arc::clone(&inner.names),
                switched_off: Arc::clone(&inner.switched_off),
                held: Arc::clone(&inner.held),
                listed: Arc::clone(&inner.listed),
                is_listed: inner.is_listed,
            }),
        }
    }

    /// The server.
    pub fn name(&self) -> &ServerName {
        &self.inner.name
    }

    /// Instructions of the server's `initialize` result.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// Whether a list of the server is known, from this start or an earlier one.
    pub(crate) fn is_listed(&self) -> bool {
        self.inner.is_listed
    }

    /// Its tools.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.inner.tools
    }

    /// Description of the server on one line: the first sentence of its instructions if it describes the server, else its
    /// first tools.
    pub fn line(&self) -> String {
        let sentence = names::first_sentence(self.introduction(), LINE_BYTES_MAX);
        if describes(&sentence) {
            return sentence;
        }
        let tools = self.tools().iter().take(LINE_TOOLS_MAX);
        let mut line = tools
            .map(|tool| names::comment_line(&tool.id().tool, LINE_BYTES_MAX / LINE_TOOLS_MAX))
            .collect::<Vec<_>>()
            .join(", ");
        if self.tools().len() > LINE_TOOLS_MAX {
            line.push_str(", …");
        }
        line
    }

    /// The instructions without the headings at their start.
    fn introduction(&self) -> &str {
        let mut text = self.instructions().unwrap_or_default().trim_start();
        while text.starts_with('#') {
            text = text
                .split_once('\n')
                .map_or("", |(_, rest)| rest.trim_start());
        }
        text
    }

    /// The tool with exactly this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.inner
            .names
            .exact
            .get(name)
            .map(|at| &self.inner.tools[*at])
    }

    /// Looks up `name`: as it is, then as an identifier form, then in any style, then as a number of one.
    pub(crate) fn find(&self, name: &str) -> Match<&Arc<Tool>> {
        match self.find_by_index(name) {
            Match::None => {
                let numbered = self.numbered(name).and_then(|tool| self.tool(tool));
                numbered.map_or(Match::None, Match::Alias)
            }
            found => found,
        }
    }

    /// [`ServerTools::find`] without a look at all tools.
    pub(crate) fn find_by_index(&self, name: &str) -> Match<&Arc<Tool>> {
        if let Some(tool) = self.tool(name) {
            return Match::Exact(tool);
        }
        let identifiers = self.inner.names.identifiers.get(name);
        match identifiers.map(Vec::as_slice) {
            Some([one]) => Match::Alias(&self.inner.tools[*one]),
            Some(many) => self.many(many),
            None => {
                let folds = &self.inner.names.folds;
                match folds.get(&names::style(name)).map(Vec::as_slice) {
                    Some([one]) => Match::Alias(&self.inner.tools[*one]),
                    Some(many) => self.many(many),
                    None => Match::None,
                }
            }
        }
    }

    /// The name of the tool behind a name such as `a_b_2`, as an earlier Python system numbered tools with the same alias.
    /// A tool that is switched off keeps its number, so the numbers of others stay.
    fn numbered(&self, name: &str) -> Option<&Arc<str>> {
        let (base, number) = name.rsplit_once('_')?;
        let number: usize = number.parse().ok().filter(|number| *number >= 2)?;
        let listed = self.inner.listed.iter();
        let mut same = listed.filter(|tool| names::earlier_alias(tool) == base);
        same.nth(number - 1)
    }

    fn many(&self, at: &[usize]) -> Match<&Arc<Tool>> {
        Match::Many(at.iter().map(|at| &self.inner.tools[*at]).collect())
    }
}

/// Whether `name` is a style of the name of `tool`, the identifier form included.
pub(crate) fn is_style(tool: &str, name: &str) -> bool {
    let style = names::style(name);
    let identifier = names::identifier(tool);
    let folds = [names::fold(tool), names::fold(&identifier)];
    identifier == name || (!style.is_empty() && folds.contains(&style))
}

/// Whether a sentence of instructions may describe their server. A heading of a list, an item of one, and a sentence with
/// a label or about the instructions (`Audience: These instructions are written for …`) say less than names of tools.
fn describes(sentence: &str) -> bool {
    let first_word = sentence.split_whitespace().next().unwrap_or_default();
    let number = first_word.strip_suffix(['.', ')']);
    let is_item = number.is_some_and(|number| number.parse::<u32>().is_ok())
        || matches!(first_word, "-" | "*" | "+" | "•");
    let has_label = first_word.ends_with(':') || sentence.ends_with(':');
    let mut words = sentence.split(|c: char| !c.is_alphanumeric());
    let is_about_itself = words.any(|word| word.eq_ignore_ascii_case("instructions"));
    !(sentence.is_empty() || is_item || has_label || is_about_itself)
}

impl NameIndex {
    /// Adds the tool at position `at`. Returns false when another tool has the name.
    fn add(&mut self, name: &Arc<str>, at: usize) -> bool {
        if self.exact.contains_key(name) {
            return false;
        }
        let identifier = names::identifier(name);
        // The two folds differ when a letter of the name is not ASCII.
        for form in [names::fold(name), names::fold(&identifier)] {
            if form.is_empty() {
                continue;
            }
            let same = self.folds.entry(form).or_default();
            if same.last() != Some(&at) {
                same.push(at);
            }
        }
        if *identifier != **name {
            self.identifiers.entry(identifier).or_default().push(at);
        }
        self.exact.insert(Arc::clone(name), at);
        true
    }
}
