//! Files of one guest, in memory: `/tmp` and `/workspace`, and nothing above or beside them.
//!
//! No path of the guest ever reaches the system. Everything has a bound, and running into one is an
//! error code as a full disk would give, not the end of the run. There are no links: a file has one
//! name, or none once it was removed and is still open.
//!
//! A [`NodeId`] stays valid while its file has a name or is held; a caller that keeps one has to call
//! [`Files::hold`], and [`Files::release`] when done.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::wasi::ErrorCode;

/// Files and directories together. Unpacking an archive of documents takes hundreds.
const NODES_MAX: usize = 4_096;
/// Contents of all files together; they also count as memory of the guest.
const BYTES_MAX: usize = 64 << 20;
/// A path, and one name in it; as on Linux.
const PATH_BYTES_MAX: usize = 4_096;
const NAME_BYTES_MAX: usize = 255;

/// Directories a guest begins with. The root itself takes no others.
const BEGIN_WITH: [&str; 2] = ["tmp", "workspace"];

/// A file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(usize);

impl NodeId {
    /// Number that no other file has at the same time.
    pub(super) fn number(self) -> u64 {
        self.0 as u64
    }
}

/// The directory all paths begin in.
pub(super) const ROOT: NodeId = NodeId(0);

#[derive(Debug)]
struct Node {
    content: Content,
    /// Whether a directory has it.
    named: bool,
    /// How many hold it.
    held: u32,
    modified_us: u64,
}

#[derive(Debug)]
enum Content {
    File(Vec<u8>),
    Directory {
        parent: NodeId,
        entries: BTreeMap<String, NodeId>,
    },
}

/// What a guest learns of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) is_directory: bool,
    pub(super) bytes: u64,
    pub(super) modified_us: u64,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) directory: bool,
    pub(super) truncate: bool,
    pub(super) write: bool,
}

/// All files of a guest.
#[derive(Debug)]
pub(super) struct Files {
    nodes: Vec<Option<Node>>,
    free: Vec<NodeId>,
    bytes: usize,
}

impl Files {
    pub(super) fn new() -> Self {
        let mut files = Self {
            nodes: Vec::new(),
            free: Vec::new(),
            bytes: 0,
        };
        // The first node is `ROOT`. It is its own parent, so no `..` leads out of it.
        files.add(directory(ROOT), 0);
        for name in BEGIN_WITH {
            let id = files.add(directory(ROOT), 0);
            files.attach(ROOT, name, id);
        }
        files
    }

    /// Size of all files together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a file that may lose its name.
    pub(super) fn hold(&mut self, id: NodeId) {
        self.node_mut(id).held += 1;
    }

    /// Gives up what [`Files::hold`] took.
    pub(super) fn release(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.held = node.held.saturating_sub(1);
        self.discard_unused(id);
    }

    pub(super) fn is_directory(&self, id: NodeId) -> bool {
        matches!(self.node(id).content, Content::Directory { .. })
    }

    /// Size of a file; of a directory it is 0.
    pub(super) fn size(&self, id: NodeId) -> u64 {
        self.data(id).map_or(0, |data| data.len() as u64)
    }

    pub(super) fn stat(&self, id: NodeId) -> Stat {
        Stat {
            is_directory: self.is_directory(id),
            bytes: self.size(id),
            modified_us: self.node(id).modified_us,
        }
    }

    pub(super) fn set_modified(&mut self, id: NodeId, at_us: u64) {
        self.node_mut(id).modified_us = at_us;
    }

    /// Finds what a path, relative to a directory, names.
    pub(super) fn find(&self, directory: NodeId, path: &str) -> Result<NodeId, ErrorCode> {
        let mut at = directory;
        for name in names(path)? {
            at = self.step(at, name)?;
        }
        if path.ends_with('/') && !self.is_directory(at) {
            return Err(ErrorCode::NotDirectory);
        }
        Ok(at)
    }

    /// Opens a file or a directory, and makes the file if asked to. The answer is not held yet.
    pub(super) fn open(
        &mut self,
        directory: NodeId,
        path: &str,
        how: Open,
        now_us: u64,
    ) -> Result<NodeId, ErrorCode> {
        let id = match self.find(directory, path) {
            Ok(_) if how.create && how.exclusive => return Err(ErrorCode::Exist),
            Err(ErrorCode::NoEntry) if how.create && !how.directory => {
                let (parent, name) = self.place(directory, path)?;
                return self.make(parent, name, Content::File(Vec::new()), now_us);
            }
            found => found?,
        };
        match &self.node(id).content {
            Content::File(_) if how.directory => return Err(ErrorCode::NotDirectory),
            Content::Directory { .. } if how.write || how.truncate => {
                return Err(ErrorCode::IsDirectory);
            }
            // Without room: a file that is cut does not grow.
            Content::File(_) if how.truncate => self.set_size(id, 0, 0, now_us)?,
            Content::File(_) | Content::Directory { .. } => {}
        }
        Ok(id)
    }

    /// Bytes of a file from `at` on, at most `bytes` of them; none at its end.
    pub(super) fn read(&self, id: NodeId, at: u64, bytes: u64) -> &[u8] {
        let data = self.data(id).unwrap_or_default();
        let from = usize::try_from(at).map_or(data.len(), |at| at.min(data.len()));
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        &data[from..from.saturating_add(bytes).min(data.len())]
    }

    /// Writes bytes at `at`, with zeros before them if the file ends earlier. `room` is by how much
    /// all files may grow.
    pub(super) fn write(
        &mut self,
        id: NodeId,
        at: u64,
        bytes: &[u8],
        room: usize,
        now_us: u64,
    ) -> Result<(), ErrorCode> {
        let end = at
            .checked_add(bytes.len() as u64)
            .ok_or(ErrorCode::FileTooLarge)?;
        if end > self.size(id) {
            self.set_size(id, end, room, now_us)?;
        }
        let node = self.node_mut(id);
        node.modified_us = now_us;
        let Content::File(data) = &mut node.content else {
            return Err(ErrorCode::IsDirectory);
        };
        // It ends where the file ends at the earliest, so both fit.
        let from = at as usize;
        data[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Cuts a file, or fills it up with zeros. `room` as in [`Files::write`].
    pub(super) fn set_size(
        &mut self,
        id: NodeId,
        bytes: u64,
        room: usize,
        now_us: u64,
    ) -> Result<(), ErrorCode> {
        let old = self.data(id).ok_or(ErrorCode::IsDirectory)?.len();
        let new = usize::try_from(bytes).map_err(|_| ErrorCode::FileTooLarge)?;
        let growth = new.saturating_sub(old);
        if growth > room || growth > BYTES_MAX.saturating_sub(self.bytes) {
            return Err(ErrorCode::InsufficientSpace);
        }
        let node = self.node_mut(id);
        node.modified_us = now_us;
        if let Content::File(data) = &mut node.content {
            data.resize(new, 0);
            // The bound counts lengths, so what was cut off must not stay allocated.
            if new < old / 2 {
                data.shrink_to_fit();
            }
        }
        self.bytes = self.bytes - old + new;
        Ok(())
    }

    pub(super) fn create_directory(
        &mut self,
        directory: NodeId,
        path: &str,
        now_us: u64,
    ) -> Result<(), ErrorCode> {
        match self.find(directory, path) {
            Ok(_) => return Err(ErrorCode::Exist),
            Err(ErrorCode::NoEntry) => {}
            Err(error) => return Err(error),
        }
        let (parent, name) = self.place(directory, path)?;
        self.make(parent, name, self::directory(parent), now_us)?;
        Ok(())
    }

    pub(super) fn unlink_file(&mut self, directory: NodeId, path: &str) -> Result<(), ErrorCode> {
        let (parent, name) = self.place(directory, path)?;
        let id = self.step(parent, name)?;
        if self.is_directory(id) {
            return Err(ErrorCode::IsDirectory);
        }
        self.detach(parent, name)
    }

    pub(super) fn remove_directory(
        &mut self,
        directory: NodeId,
        path: &str,
    ) -> Result<(), ErrorCode> {
        let (parent, name) = self.place(directory, path)?;
        let id = self.step(parent, name)?;
        match &self.node(id).content {
            Content::File(_) => Err(ErrorCode::NotDirectory),
            Content::Directory { entries, .. } if !entries.is_empty() => Err(ErrorCode::NotEmpty),
            Content::Directory { .. } => self.detach(parent, name),
        }
    }

    /// Gives a file or directory another name. What had that name is replaced, if it is of the same
    /// kind and, as a directory, empty.
    pub(super) fn rename(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
    ) -> Result<(), ErrorCode> {
        let (old_parent, old_name) = self.place(from.0, from.1)?;
        let id = self.step(old_parent, old_name)?;
        let (parent, name) = self.place(to.0, to.1)?;
        if self.is_within(parent, id) {
            return Err(ErrorCode::Invalid);
        }
        // As in `make`. What moved into it would have a parent that is gone when the directory is closed.
        if !self.node(parent).named {
            return Err(ErrorCode::NoEntry);
        }
        match self.step(parent, name) {
            Ok(same) if same == id => return Ok(()),
            Ok(other) => {
                self.check_replaced(other, id)?;
                self.detach(parent, name)?;
            }
            Err(ErrorCode::NoEntry) => {}
            Err(error) => return Err(error),
        }
        // Without a holder it would be freed with its old name.
        self.hold(id);
        self.detach(old_parent, old_name)?;
        if let Content::Directory { parent: above, .. } = &mut self.node_mut(id).content {
            *above = parent;
        }
        self.attach(parent, name, id);
        self.release(id);
        Ok(())
    }

    /// Entry of a directory that comes after the one named `after`, by name: its name, and whether it
    /// is a directory.
    pub(super) fn next_entry(
        &self,
        directory: NodeId,
        after: Option<&str>,
    ) -> Option<(String, bool)> {
        let Content::Directory { entries, .. } = &self.node(directory).content else {
            return None;
        };
        // By name and not by position, which entries that are made or removed between two reads would shift.
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (name, id) = entries.range::<str, _>((from, Bound::Unbounded)).next()?;
        Some((name.clone(), self.is_directory(*id)))
    }

    /// One step of a path.
    fn step(&self, at: NodeId, name: &str) -> Result<NodeId, ErrorCode> {
        let Content::Directory { parent, entries } = &self.node(at).content else {
            return Err(ErrorCode::NotDirectory);
        };
        match name {
            "." => Ok(at),
            ".." => Ok(*parent),
            name => entries.get(name).copied().ok_or(ErrorCode::NoEntry),
        }
    }

    /// Splits a path into the directory its last name is in and that name, whether or not there is
    /// something of that name. Nothing changes in the root.
    fn place<'p>(&self, directory: NodeId, path: &'p str) -> Result<(NodeId, &'p str), ErrorCode> {
        let mut at = directory;
        let mut names = names(path)?.peekable();
        loop {
            let name = names.next().ok_or(ErrorCode::Invalid)?;
            if names.peek().is_some() {
                at = self.step(at, name)?;
            } else if matches!(name, "." | "..") {
                return Err(ErrorCode::Invalid);
            } else if !self.is_directory(at) {
                return Err(ErrorCode::NotDirectory);
            } else if at == ROOT {
                return Err(ErrorCode::ReadOnly);
            } else {
                return Ok((at, name));
            }
        }
    }

    fn check_replaced(&self, old: NodeId, new: NodeId) -> Result<(), ErrorCode> {
        match (&self.node(old).content, self.is_directory(new)) {
            (Content::File(_), false) => Ok(()),
            (Content::File(_), true) => Err(ErrorCode::NotDirectory),
            (Content::Directory { .. }, false) => Err(ErrorCode::IsDirectory),
            (Content::Directory { entries, .. }, true) if entries.is_empty() => Ok(()),
            (Content::Directory { .. }, true) => Err(ErrorCode::NotEmpty),
        }
    }

    /// Whether a directory is another one or somewhere below it.
    fn is_within(&self, mut directory: NodeId, other: NodeId) -> bool {
        loop {
            if directory == other {
                return true;
            }
            match self.node(directory).content {
                Content::Directory { parent, .. } if directory != ROOT => directory = parent,
                Content::Directory { .. } | Content::File(_) => return false,
            }
        }
    }

    fn make(
        &mut self,
        parent: NodeId,
        name: &str,
        content: Content,
        now_us: u64,
    ) -> Result<NodeId, ErrorCode> {
        if self.nodes.len() - self.free.len() >= NODES_MAX {
            return Err(ErrorCode::InsufficientSpace);
        }
        // A directory that was removed while it is open takes nothing new.
        if !self.node(parent).named {
            return Err(ErrorCode::NoEntry);
        }
        let id = self.add(content, now_us);
        self.attach(parent, name, id);
        self.node_mut(parent).modified_us = now_us;
        Ok(id)
    }

    fn add(&mut self, content: Content, modified_us: u64) -> NodeId {
        let node = Some(Node {
            content,
            named: false,
            held: 0,
            modified_us,
        });
        if let Some(id) = self.free.pop() {
            self.nodes[id.0] = node;
            return id;
        }
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    fn attach(&mut self, parent: NodeId, name: &str, id: NodeId) {
        if let Content::Directory { entries, .. } = &mut self.node_mut(parent).content {
            entries.insert(name.to_owned(), id);
            self.node_mut(id).named = true;
        }
    }

    fn detach(&mut self, parent: NodeId, name: &str) -> Result<(), ErrorCode> {
        let Content::Directory { entries, .. } = &mut self.node_mut(parent).content else {
            return Err(ErrorCode::NotDirectory);
        };
        let id = entries.remove(name).ok_or(ErrorCode::NoEntry)?;
        let node = self.node_mut(id);
        node.named = false;
        // What it was in may go before it does.
        if let Content::Directory { parent, .. } = &mut node.content {
            *parent = ROOT;
        }
        self.discard_unused(id);
        Ok(())
    }

    /// Frees a file that has no name and no holder.
    fn discard_unused(&mut self, id: NodeId) {
        let node = self.node(id);
        if id == ROOT || node.named || node.held > 0 {
            return;
        }
        self.bytes -= self.data(id).map_or(0, <[u8]>::len);
        self.nodes[id.0] = None;
        self.free.push(id);
    }

    /// Contents of a file; `None` of a directory.
    fn data(&self, id: NodeId) -> Option<&[u8]> {
        match &self.node(id).content {
            Content::File(data) => Some(data),
            Content::Directory { .. } => None,
        }
    }

    fn node(&self, id: NodeId) -> &Node {
        self.nodes[id.0]
            .as_ref()
            .expect("ids are held or named as long as they are known")
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.0]
            .as_mut()
            .expect("ids are held or named as long as they are known")
    }
}

fn directory(parent: NodeId) -> Content {
    Content::Directory {
        parent,
        entries: BTreeMap::new(),
    }
}

/// Names of a path, in order; empty ones are left out.
fn names(path: &str) -> Result<impl Iterator<Item = &str>, ErrorCode> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry);
    }
    if path.starts_with('/') {
        return Err(ErrorCode::NotPermitted);
    }
    let names = path.split('/').filter(|name| !name.is_empty());
    if path.len() > PATH_BYTES_MAX || names.clone().any(|name| name.len() > NAME_BYTES_MAX) {
        return Err(ErrorCode::NameTooLong);
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
