//! What a search asks of a tool apart from its words: whose it is, how it is named, and its turn among equals.
//!
//! Tools are numbered in catalogue order, so those of one server lie side by side. Everything here is an array by
//! that number: a query asks about nearly all tools, and looks at no name.

use std::ops::Range;
use std::sync::Arc;

use limbeck_domain::ServerName;

use super::actions::Action;
use super::index::WordId;
use crate::catalog::Catalog;
use crate::server::ServerTools;
use crate::tool::Tool;

/// One server's tools.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: ServerName,
    /// The words that make up its name.
    pub(super) words: Box<[WordId]>,
    /// Numbers of its tools.
    pub(super) documents: Range<usize>,
}

/// All tools of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Documents {
    servers: Vec<Server>,
    /// Of each tool: how many come before it by server and name.
    turns: Vec<u32>,
    /// The words of the tools' names, tool by tool.
    name_words: Vec<WordId>,
    /// Of each tool: where its part of `name_words` ends.
    name_ends: Vec<u32>,
    /// Of each tool: whether it looks something up or changes it, when its name says so.
    actions: Vec<Option<Action>>,
}

impl Documents {
    /// Adds a tool; all tools come before the servers.
    pub(super) fn push_tool(&mut self, name_words: &[WordId], action: Option<Action>) {
        self.actions.push(action);
        self.name_words.extend(name_words);
        self.name_ends.push(self.name_words.len() as u32);
    }

    /// Adds the server of the next tools.
    pub(super) fn push_server(&mut self, server: &ServerTools, words: Box<[WordId]>) {
        let tools = server.tools();
        let first = self.turns.len();
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by_key(|at| tools[*at].id());
        self.turns.resize(first + tools.len(), 0);
        // Servers come in the order of their names, so no tool of a later one comes before.
        for (turn, at) in (first as u32..).zip(by_name) {
            self.turns[first + at] = turn;
        }
        self.servers.push(Server {
            name: server.name().clone(),
            words,
            documents: first..self.turns.len(),
        });
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    /// The servers in the order of their names.
    pub(super) fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The tools of `server`; none when it is unknown.
    pub(super) fn of(&self, server: &ServerName) -> Range<usize> {
        let found = self.servers.binary_search_by(|one| one.name.cmp(server));
        found.map_or(0..0, |at| self.servers[at].documents.clone())
    }

    /// Of each tool its turn by name, in which those come that fit equally well.
    pub(super) fn turns(&self) -> &[u32] {
        &self.turns
    }

    /// The words that make up a tool's name, without the server's and without common ones.
    pub(super) fn name_words(&self, document: usize) -> &[WordId] {
        let start = match document {
            0 => 0,
            _ => self.name_ends[document - 1] as usize,
        };
        &self.name_words[start..self.name_ends[document] as usize]
    }

    /// Of each tool whether it looks something up or changes it.
    pub(super) fn actions(&self) -> &[Option<Action>] {
        &self.actions
    }

    /// The tool of this number in `catalog`, the snapshot that was read or one with the same tools.
    pub(super) fn tool<'c>(&self, catalog: &'c Catalog, document: usize) -> &'c Arc<Tool> {
        let until = |server: &Server| server.documents.end <= document;
        let server = &self.servers[self.servers.partition_point(until)];
        &catalog.tools_of(&server.name)[document - server.documents.start]
    }
}
