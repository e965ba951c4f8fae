//! One server and its tools.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolDefinition, ToolId};

use crate::names;
use crate::tool::Tool;

/// Bytes of the line that says what a server is for.
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
    exact: HashMap<Arc<str>, usize>,
    identifiers: HashMap<String, Vec<usize>>,
    folds: HashMap<String, Vec<usize>>,
}

/// What a name written by a program stands for among the names of one kind.
#[derive(Debug)]
pub(crate) enum Match<T> {
    /// Verbatim.
    Exact(T),
    /// In another style, and only this one fits.
    Alias(T),
    /// In another style, and these fit.
    Many(Vec<T>),
    None,
}

impl ServerTools {
    /// Takes a server's list. Of tools with one name the first is kept.
    pub fn new(
        name: ServerName,
        definitions: Vec<ToolDefinition>,
        instructions: Option<String>,
    ) -> Self {
        let mut inner = Inner::named(name, instructions, definitions.len());
        for definition in definitions {
            inner.add(Arc::new(Tool::new(definition)));
        }
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The same list with only those tools that `keep` keeps.
    pub(crate) fn only(&self, keep: &impl Fn(&ToolId) -> bool) -> Self {
        let tools = self.tools().iter().filter(|tool| keep(tool.id()));
        let mut inner = Inner::named(self.name().clone(), self.inner.instructions.clone(), 0);
        for tool in tools {
            inner.add(Arc::clone(tool));
        }
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The server.
    pub fn name(&self) -> &ServerName {
        &self.inner.name
    }

    /// What the server said about itself when it was asked for its tools.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// Its tools.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.inner.tools
    }

    /// One line on what the server is for: its instructions' first sentence, else its first tools.
    pub fn line(&self) -> String {
        let sentence = names::first_sentence(self.told(), LINE_BYTES_MAX);
        if !sentence.is_empty() {
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

    /// The instructions from their first line on that is no heading.
    fn told(&self) -> &str {
        let mut told = self.instructions().unwrap_or_default().trim_start();
        while told.starts_with('#') {
            told = told
                .split_once('\n')
                .map_or("", |(_, rest)| rest.trim_start());
        }
        told
    }

    /// The tool of exactly this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.inner.exact.get(name).map(|at| &self.inner.tools[*at])
    }

    /// The tool meant by `name`: verbatim, else by its identifier form, else in any style.
    pub(crate) fn find(&self, name: &str) -> Match<&Arc<Tool>> {
        if let Some(tool) = self.tool(name) {
            return Match::Exact(tool);
        }
        let identifiers = self.inner.identifiers.get(name);
        match identifiers.map(Vec::as_slice) {
            Some([one]) => Match::Alias(&self.inner.tools[*one]),
            Some(many) => self.many(many),
            None => match self.inner.folds.get(&names::style(name)).map(Vec::as_slice) {
                Some([one]) => Match::Alias(&self.inner.tools[*one]),
                Some(many) => self.many(many),
                None => Match::None,
            },
        }
    }

    fn many(&self, at: &[usize]) -> Match<&Arc<Tool>> {
        Match::Many(at.iter().map(|at| &self.inner.tools[*at]).collect())
    }
}

impl Inner {
    /// A list with room for some tools.
    fn named(name: ServerName, instructions: Option<String>, tools: usize) -> Self {
        Self {
            name,
            instructions,
            tools: Vec::with_capacity(tools),
            exact: HashMap::with_capacity(tools),
            identifiers: HashMap::new(),
            folds: HashMap::with_capacity(tools),
        }
    }

    fn add(&mut self, tool: Arc<Tool>) {
        let name = Arc::clone(&tool.id().tool);
        let at = self.tools.len();
        if self.exact.contains_key(&name) {
            return;
        }
        let identifier = names::identifier(&name);
        // The fold of the identifier differs from the name's own where a letter is not ASCII.
        for form in [names::fold(&name), names::fold(&identifier)] {
            if form.is_empty() {
                continue;
            }
            let same = self.folds.entry(form).or_default();
            if same.last() != Some(&at) {
                same.push(at);
            }
        }
        if *identifier != *name {
            self.identifiers.entry(identifier).or_default().push(at);
        }
        self.exact.insert(name, at);
        self.tools.push(tool);
    }
}
