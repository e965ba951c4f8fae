//! Attributes of the indexed tools besides their words: server, words of the name, action, and order among equal scores.
//!
//! Tools are numbered in catalog order, so the tools of one server are adjacent. Every attribute is an array indexed by that
//! number, because a query reads nearly all tools and must not touch their names.

use std::ops::Range;
use std::sync::Arc;

use limbeck_catalog::{Catalog, ServerTools, Tool};
use limbeck_domain::ServerName;

use crate::actions::Action;
use crate::vocabulary::WordId;

/// Server of a range of tools.
#[derive(Debug)]
pub(crate) struct IndexedServer {
    pub(crate) name: ServerName,
    /// Words of its name.
    pub(crate) words: Box<[WordId]>,
    /// Numbers of its tools.
    pub(crate) documents: Range<usize>,
}

/// All tools of a catalog snapshot.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    servers: Vec<IndexedServer>,
    /// For each tool the number of tools before it by server and name.
    tie_breaks: Vec<u32>,
    /// Words of the tools' names, tool by tool.
    name_words: Vec<WordId>,
    /// For each tool the end of its part of `name_words`.
    name_ends: Vec<u32>,
    /// For each tool its action, when its name says it.
    actions: Vec<Option<Action>>,
}

impl Documents {
    /// Adds a tool. All tools are added before the servers.
    pub(crate) fn push_tool(&mut self, name_words: &[WordId], action: Option<Action>) {
        self.actions.push(action);
        self.name_words.extend(name_words);
        self.name_ends.push(self.name_words.len() as u32);
    }

    /// Adds the server of the next tools. Servers are added in the order of their names.
    pub(crate) fn push_server(&mut self, server: &ServerTools, words: Box<[WordId]>) {
        let tools = server.tools();
        let first = self.tie_breaks.len();
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by_key(|at| tools[*at].id());
        self.tie_breaks.resize(first + tools.len(), 0);
        // Servers are added in the order of their names, so all tools so far come before these.
        for (tie_break, at) in (first as u32..).zip(by_name) {
            self.tie_breaks[first + at] = tie_break;
        }
        self.servers.push(IndexedServer {
            name: server.name().clone(),
            words,
            documents: first..self.tie_breaks.len(),
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.tie_breaks.len()
    }

    /// Servers in the order of their names.
    pub(crate) fn servers(&self) -> &[IndexedServer] {
        &self.servers
    }

    /// Tools of `server`; empty when it is unknown.
    pub(crate) fn of(&self, server: &ServerName) -> Range<usize> {
        let found = self.servers.binary_search_by(|one| one.name.cmp(server));
        found.map_or(0..0, |at| self.servers[at].documents.clone())
    }

    /// For each tool its rank among tools with equal scores.
    pub(crate) fn tie_breaks(&self) -> &[u32] {
        &self.tie_breaks
    }

    /// Words of a tool's name, without stop words and without the words of its server.
    pub(crate) fn name_words(&self, document: usize) -> &[WordId] {
        let start = match document {
            0 => 0,
            _ => self.name_ends[document - 1] as usize,
        };
        &self.name_words[start..self.name_ends[document] as usize]
    }

    /// For each tool its action, when its name says it.
    pub(crate) fn actions(&self) -> &[Option<Action>] {
        &self.actions
    }

    /// The tool with this number in `catalog`, which is the indexed snapshot or one with the same definitions.
    pub(crate) fn tool<'c>(&self, catalog: &'c Catalog, document: usize) -> &'c Arc<Tool> {
        let until = |server: &IndexedServer| server.documents.end <= document;
        let server = &self.servers[self.servers.partition_point(until)];
        &catalog.tools_of(&server.name)[document - server.documents.start]
    }
}
