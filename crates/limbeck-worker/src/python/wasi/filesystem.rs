//! File operations of WASI.

mod types;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource, ResourceType, WasmList, WasmStr};

pub(in crate::python) use self::types::ErrorCode;
use self::types::{
    Advice, DescriptorFlags, DescriptorStat, DirectoryEntry, MetadataHash, NewTimestamp, OpenFlags,
    PathFlags, identity, kind,
};
use super::io::{InputStream, OutputStream, STREAM_BYTES_MAX};
use super::{OPEN_MAX, interface};
use crate::python::files::{Files, NodeId, Open, ROOT};
use crate::python::state::GuestState;

/// A path the guest passes is not copied when it is longer; the files refuse shorter ones.
const PATH_BYTES_MAX: usize = 8 << 10;

/// An open file or directory.
struct Descriptor {
    node: NodeId,
    flags: DescriptorFlags,
}

/// A directory that is being read: up to which name.
struct DirectoryStream {
    node: NodeId,
    after: Option<String>,
}

/// Answer of a file operation.
type Answer<T> = wasmtime::Result<(Result<T, ErrorCode>,)>;
type Store<'a> = StoreContextMut<'a, GuestState>;
type Handle = Resource<Descriptor>;

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    interface(linker, "filesystem/preopens")?.func_wrap("get-directories", preopens)?;
    let mut types = interface(linker, "filesystem/types")?;
    types.resource(
        "descriptor",
        ResourceType::host::<Descriptor>(),
        |mut store, rep| {
            let wasi = &mut store.data_mut().wasi;
            let descriptor = wasi.handles.delete(Handle::new_own(rep))?;
            wasi.open -= 1;
            release(store.data_mut(), descriptor.node);
            Ok(())
        },
    )?;
    types.resource(
        "directory-entry-stream",
        ResourceType::host::<DirectoryStream>(),
        |mut store, rep| {
            let wasi = &mut store.data_mut().wasi;
            let stream = wasi
                .handles
                .delete(Resource::<DirectoryStream>::new_own(rep))?;
            release(store.data_mut(), stream.node);
            Ok(())
        },
    )?;
    contents(&mut types)?;
    descriptions(&mut types)?;
    names(&mut types)
}

/// Gives up a file that a handle kept.
pub(super) fn release(state: &mut GuestState, node: NodeId) {
    state.files(|files, _| files.release(node));
}

fn preopens(mut store: Store<'_>, (): ()) -> wasmtime::Result<(Vec<(Handle, String)>,)> {
    let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
    let handle = open_handle(store.data_mut(), ROOT, flags)?;
    Ok((vec![(handle, "/".to_owned())],))
}

/// What is done with what is in a file.
fn contents(types: &mut LinkerInstance<'_, GuestState>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.read-via-stream", read_via_stream)?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |store: Store<'_>, (handle, at): (Handle, u64)| write_via_stream(store, &handle, Some(at)),
    )?;
    types.func_wrap(
        "[method]descriptor.append-via-stream",
        |store: Store<'_>, (handle,): (Handle,)| write_via_stream(store, &handle, None),
    )?;
    types.func_wrap("[method]descriptor.read", read)?;
    types.func_wrap("[method]descriptor.write", write)?;
    types.func_wrap("[method]descriptor.set-size", set_size)?;
    types.func_wrap(
        "[method]descriptor.advise",
        |_, _: (Handle, u64, u64, Advice)| Ok((Ok::<_, ErrorCode>(()),)),
    )?;
    for sync in ["sync", "sync-data"] {
        types.func_wrap(&format!("[method]descriptor.{sync}"), |_, _: (Handle,)| {
            Ok((Ok::<_, ErrorCode>(()),))
        })?;
    }
    Ok(())
}

/// Metadata of a file.
fn descriptions(types: &mut LinkerInstance<'_, GuestState>) -> wasmtime::Result<()> {
    types.func_wrap(
        "[method]descriptor.get-flags",
        |store: Store<'_>, (handle,): (Handle,)| {
            let flags = descriptor(store.data(), &handle)?.flags;
            Ok((Ok::<_, ErrorCode>(flags),))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.stat",
        |store: Store<'_>, (handle,): (Handle,)| {
            let node = descriptor(store.data(), &handle)?.node;
            let stat = store.data().wasi.files.stat(node);
            Ok((Ok::<_, ErrorCode>(DescriptorStat::from(stat)),))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.stat-at",
        |store: Store<'_>, (handle, _, path): (Handle, PathFlags, WasmStr)| {
            let stat = |files: &Files, node| files.stat(node).into();
            Ok((at_path(&store, &handle, &path, stat)?,)) as Answer<DescriptorStat>
        },
    )?;
    types.func_wrap(
        "[method]descriptor.metadata-hash",
        |store: Store<'_>, (handle,): (Handle,)| {
            let node = descriptor(store.data(), &handle)?.node;
            Ok((Ok::<_, ErrorCode>(identity(node)),))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.metadata-hash-at",
        |store: Store<'_>, (handle, _, path): (Handle, PathFlags, WasmStr)| {
            let hash = |_: &Files, node| identity(node);
            Ok((at_path(&store, &handle, &path, hash)?,)) as Answer<MetadataHash>
        },
    )?;
    types.func_wrap(
        "[method]descriptor.set-times",
        |mut store: Store<'_>, (handle, _, modified): (Handle, NewTimestamp, NewTimestamp)| {
            let node = descriptor(store.data(), &handle)?.node;
            set_modified(store.data_mut(), node, modified);
            Ok((Ok::<_, ErrorCode>(()),))
        },
    )?;
    types.func_wrap("[method]descriptor.set-times-at", set_times_at)
}

/// What is done with names and directories.
fn names(types: &mut LinkerInstance<'_, GuestState>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.open-at", open_at)?;
    types.func_wrap("[method]descriptor.read-directory", read_directory)?;
    types.func_wrap(
        "[method]directory-entry-stream.read-directory-entry",
        next_entry,
    )?;
    types.func_wrap(
        "[method]descriptor.create-directory-at",
        |store: Store<'_>, (handle, path): (Handle, WasmStr)| {
            change(store, &handle, &path, |files, directory, path, now_us| {
                files.create_directory(directory, path, now_us)
            })
        },
    )?;
    types.func_wrap(
        "[method]descriptor.remove-directory-at",
        |store: Store<'_>, (handle, path): (Handle, WasmStr)| {
            change(store, &handle, &path, |files, directory, path, _| {
                files.remove_directory(directory, path)
            })
        },
    )?;
    types.func_wrap(
        "[method]descriptor.unlink-file-at",
        |store: Store<'_>, (handle, path): (Handle, WasmStr)| {
            change(store, &handle, &path, |files, directory, path, _| {
                files.unlink_file(directory, path)
            })
        },
    )?;
    types.func_wrap("[method]descriptor.rename-at", rename_at)?;
    types.func_wrap(
        "[method]descriptor.readlink-at",
        |store: Store<'_>, (handle, path): (Handle, WasmStr)| {
            // There are no links, so no entry is one.
            let found = at_path(&store, &handle, &path, |_, _| ())?;
            Ok((found.and(Err(ErrorCode::Invalid)),)) as Answer<String>
        },
    )?;
    types.func_wrap(
        "[method]descriptor.symlink-at",
        |_, _: (Handle, WasmStr, WasmStr)| Ok((Err::<(), _>(ErrorCode::Unsupported),)),
    )?;
    types.func_wrap(
        "[method]descriptor.link-at",
        |_, _: (Handle, PathFlags, WasmStr, Handle, WasmStr)| {
            Ok((Err::<(), _>(ErrorCode::Unsupported),))
        },
    )
}

fn read_via_stream(
    mut store: Store<'_>,
    (handle, at): (Handle, u64),
) -> Answer<Resource<InputStream>> {
    let node = descriptor(store.data(), &handle)?.node;
    let wasi = &mut store.data_mut().wasi;
    if wasi.files.is_directory(node) {
        return Ok((Err(ErrorCode::IsDirectory),));
    }
    let stream = wasi.handles.push(InputStream::File { node, at })?;
    wasi.files.hold(node);
    Ok((Ok(stream),))
}

fn write_via_stream(
    mut store: Store<'_>,
    handle: &Handle,
    at: Option<u64>,
) -> Answer<Resource<OutputStream>> {
    let node = match writable(store.data(), handle)? {
        Ok(node) => node,
        Err(error) => return Ok((Err(error),)),
    };
    let wasi = &mut store.data_mut().wasi;
    let stream = wasi.handles.push(OutputStream::File { node, at })?;
    wasi.files.hold(node);
    Ok((Ok(stream),))
}

fn read(store: Store<'_>, (handle, bytes, at): (Handle, u64, u64)) -> Answer<(Vec<u8>, bool)> {
    let node = descriptor(store.data(), &handle)?.node;
    let files = &store.data().wasi.files;
    if files.is_directory(node) {
        return Ok((Err(ErrorCode::IsDirectory),));
    }
    let data = files.read(node, at, bytes.min(STREAM_BYTES_MAX)).to_vec();
    let at_end = data.is_empty();
    Ok((Ok((data, at_end)),))
}

fn write(mut store: Store<'_>, (handle, bytes, at): (Handle, WasmList<u8>, u64)) -> Answer<u64> {
    let node = match writable(store.data(), &handle)? {
        Ok(node) => node,
        Err(error) => return Ok((Err(error),)),
    };
    let bytes = bytes.as_le_slice(&store);
    let bytes = bytes[..bytes.len().min(STREAM_BYTES_MAX as usize)].to_vec();
    let now_us = store.data().wasi.clock.now_us();
    let written = store
        .data_mut()
        .files(|files, room| files.write(node, at, &bytes, room, now_us));
    Ok((written.map(|()| bytes.len() as u64),))
}

fn set_size(mut store: Store<'_>, (handle, bytes): (Handle, u64)) -> Answer<()> {
    let node = match writable(store.data(), &handle)? {
        Ok(node) => node,
        Err(error) => return Ok((Err(error),)),
    };
    let now_us = store.data().wasi.clock.now_us();
    Ok((store
        .data_mut()
        .files(|files, room| files.set_size(node, bytes, room, now_us)),))
}

fn set_times_at(
    mut store: Store<'_>,
    (handle, _, path, _, modified): (Handle, PathFlags, WasmStr, NewTimestamp, NewTimestamp),
) -> Answer<()> {
    let node = match at_path(&store, &handle, &path, |_, node| node)? {
        Ok(node) => node,
        Err(error) => return Ok((Err(error),)),
    };
    set_modified(store.data_mut(), node, modified);
    Ok((Ok(()),))
}

fn open_at(
    mut store: Store<'_>,
    (handle, _, path, how, flags): (Handle, PathFlags, WasmStr, OpenFlags, DescriptorFlags),
) -> Answer<Handle> {
    if store.data().wasi.open >= OPEN_MAX {
        return Ok((Err(ErrorCode::Quota),));
    }
    let directory = descriptor(store.data(), &handle)?.node;
    let path = match text(&store, &path)? {
        Ok(path) => path,
        Err(error) => return Ok((Err(error),)),
    };
    let how = Open {
        create: how.contains(OpenFlags::CREATE),
        exclusive: how.contains(OpenFlags::EXCLUSIVE),
        directory: how.contains(OpenFlags::DIRECTORY),
        truncate: how.contains(OpenFlags::TRUNCATE),
        write: flags.contains(DescriptorFlags::WRITE),
    };
    let now_us = store.data().wasi.clock.now_us();
    let opened = store
        .data_mut()
        .files(|files, _| files.open(directory, &path, how, now_us));
    Ok((match opened {
        Ok(node) => Ok(open_handle(store.data_mut(), node, flags)?),
        Err(error) => Err(error),
    },))
}

fn rename_at(
    mut store: Store<'_>,
    (handle, from, to_handle, to): (Handle, WasmStr, Handle, WasmStr),
) -> Answer<()> {
    let (from, to) = match (text(&store, &from)?, text(&store, &to)?) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(error), _) | (_, Err(error)) => return Ok((Err(error),)),
    };
    let from_directory = descriptor(store.data(), &handle)?.node;
    let to_directory = descriptor(store.data(), &to_handle)?.node;
    let renamed = store
        .data_mut()
        .files(|files, _| files.rename((from_directory, &from), (to_directory, &to)));
    Ok((renamed,))
}

fn read_directory(mut store: Store<'_>, (handle,): (Handle,)) -> Answer<Resource<DirectoryStream>> {
    let node = descriptor(store.data(), &handle)?.node;
    let wasi = &mut store.data_mut().wasi;
    if !wasi.files.is_directory(node) {
        return Ok((Err(ErrorCode::NotDirectory),));
    }
    let stream = wasi.handles.push(DirectoryStream { node, after: None })?;
    wasi.files.hold(node);
    Ok((Ok(stream),))
}

fn next_entry(
    mut store: Store<'_>,
    (stream,): (Resource<DirectoryStream>,),
) -> Answer<Option<DirectoryEntry>> {
    let wasi = &mut store.data_mut().wasi;
    let stream = wasi.handles.get_mut(&stream)?;
    let next = wasi.files.next_entry(stream.node, stream.after.as_deref());
    let entry = next.map(|(name, is_directory)| {
        stream.after = Some(name.clone());
        DirectoryEntry {
            kind: kind(is_directory),
            name,
        }
    });
    Ok((Ok(entry),))
}

fn open_handle(
    state: &mut GuestState,
    node: NodeId,
    flags: DescriptorFlags,
) -> wasmtime::Result<Handle> {
    let handle = state.wasi.handles.push(Descriptor { node, flags })?;
    state.wasi.files.hold(node);
    state.wasi.open += 1;
    Ok(handle)
}

fn descriptor<'s>(state: &'s GuestState, handle: &Handle) -> wasmtime::Result<&'s Descriptor> {
    Ok(state.wasi.handles.get(handle)?)
}

/// The file of a handle that was opened for writing.
fn writable(state: &GuestState, handle: &Handle) -> wasmtime::Result<Result<NodeId, ErrorCode>> {
    let Descriptor { node, flags } = descriptor(state, handle)?;
    Ok(if flags.contains(DescriptorFlags::WRITE) {
        Ok(*node)
    } else {
        Err(ErrorCode::BadDescriptor)
    })
}

/// Looks at what a path names.
fn at_path<T>(
    store: &Store<'_>,
    handle: &Handle,
    path: &WasmStr,
    look: impl FnOnce(&Files, NodeId) -> T,
) -> wasmtime::Result<Result<T, ErrorCode>> {
    let directory = descriptor(store.data(), handle)?.node;
    let path = match text(store, path)? {
        Ok(path) => path,
        Err(error) => return Ok(Err(error)),
    };
    let files = &store.data().wasi.files;
    Ok(files.find(directory, &path).map(|node| look(files, node)))
}

/// Changes what a path names.
fn change(
    mut store: Store<'_>,
    handle: &Handle,
    path: &WasmStr,
    work: impl FnOnce(&mut Files, NodeId, &str, u64) -> Result<(), ErrorCode>,
) -> Answer<()> {
    let directory = descriptor(store.data(), handle)?.node;
    let path = match text(&store, path)? {
        Ok(path) => path,
        Err(error) => return Ok((Err(error),)),
    };
    let now_us = store.data().wasi.clock.now_us();
    let changed = store
        .data_mut()
        .files(|files, _| work(files, directory, &path, now_us));
    Ok((changed,))
}

/// Copies a path out of the guest, unless it is longer than any path may be.
fn text(store: &Store<'_>, path: &WasmStr) -> wasmtime::Result<Result<String, ErrorCode>> {
    let path = path.to_str(store)?;
    Ok(if path.len() > PATH_BYTES_MAX {
        Err(ErrorCode::NameTooLong)
    } else {
        Ok(path.into_owned())
    })
}

fn set_modified(state: &mut GuestState, node: NodeId, to: NewTimestamp) {
    let at_us = match to {
        NewTimestamp::NoChange => return,
        NewTimestamp::Now => state.wasi.clock.now_us(),
        NewTimestamp::Timestamp(at) => at.as_us(),
    };
    state.wasi.files.set_modified(node, at_us);
}
