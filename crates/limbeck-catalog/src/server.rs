//! One server and its tools.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolDefinition, ToolId};

use crate::names;
use crate::observed::Observed;
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
    names: Arc<Names>,
}

/// Tools by their names, as positions in the list.
#[derive(Debug, Default)]
struct Names {
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
        let mut tools = Vec::with_capacity(definitions.len());
        let mut names = Names::default();
        for definition in definitions {
            if names.add(&definition.id.tool, tools.len()) {
                tools.push(Arc::new(Tool::new(definition)));
            }
        }
        Self {
            inner: Arc::new(Inner {
                name,
                instructions,
                tools,
                names: Arc::new(names),
            }),
        }
    }

    /// The same list with only those tools that `keep` keeps.
    pub(crate) fn only(&self, keep: &impl Fn(&ToolId) -> bool) -> Self {
        let kept = self.tools().iter().filter(|tool| keep(tool.id()));
        let tools: Vec<Arc<Tool>> = kept.map(Arc::clone).collect();
        let mut names = Names::default();
        for (at, tool) in tools.iter().enumerate() {
            names.add(&tool.id().tool, at);
        }
        Self {
            inner: Arc::new(Inner {
                name: self.inner.name.clone(),
                instructions: self.inner.instructions.clone(),
                tools,
                names: Arc::new(names),
            }),
        }
    }

    /// The same list with what results of its tools taught; `None` keeps a tool as it is.
    pub fn taught(&self, observed: impl Fn(&Tool) -> Option<Observed>) -> Self {
        let taught = |tool: &Arc<Tool>| match observed(tool) {
            Some(observed) => Arc::new(tool.taught(observed)),
            None => Arc::clone(tool),
        };
        let inner = &*self.inner;
        Self {
            inner: Arc::new(Inner {
                name: inner.name.clone(),
                instructions: inner.instructions.clone(),
                tools: inner.tools.iter().map(taught).collect(),
                names: Arc::clone(&inner.names),
            }),
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
        self.inner
            .names
            .exact
            .get(name)
            .map(|at| &self.inner.tools[*at])
    }

    /// The tool meant by `name`: verbatim, else by its identifier form, else in any style.
    pub(crate) fn find(&self, name: &str) -> Match<&Arc<Tool>> {
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

    fn many(&self, at: &[usize]) -> Match<&Arc<Tool>> {
        Match::Many(at.iter().map(|at| &self.inner.tools[*at]).collect())
    }
}

impl Names {
    /// Adds the tool at a position of the list. Gives false when there is one of that name.
    fn add(&mut self, name: &Arc<str>, at: usize) -> bool {
        if self.exact.contains_key(name) {
            return false;
        }
        let identifier = names::identifier(name);
        // The fold of the identifier differs from the name's own where a letter is not ASCII.
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
