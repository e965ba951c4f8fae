//! Files of this machine, without their times, their places on the disk and their order.
//!
//! Everything else is left to `wasmtime-wasi`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use componentize_py::Ctx;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::filesystem::{WasiFilesystemCtxView, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCode, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

/// What is left of each directory that is being read, last name first. A number comes back for a new
/// stream only when the old one is dropped.
static OPEN: Mutex<BTreeMap<u32, Vec<DirectoryEntry>>> = Mutex::new(BTreeMap::new());

pub(super) fn add_to_linker(linker: &mut Linker<Ctx>) -> wasmtime::Result<()> {
    types::add_to_linker::<Ctx, Files<'static>>(linker, |ctx| Files(ctx.filesystem()))
}

struct Files<'a>(WasiFilesystemCtxView<'a>);

impl HasData for Files<'static> {
    type Data<'a> = Files<'a>;
}

impl types::Host for Files<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.0.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.0.filesystem_error_code(error)
    }
}

/// Methods that are left as they are.
macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*) -> $value:ty;)*) => {$(
        async fn $name(
            &mut self,
            descriptor: Resource<Descriptor>,
            $($argument: $type),*
        ) -> FsResult<$value> {
            self.0.$name(descriptor, $($argument),*).await
        }
    )*};
}

impl HostDescriptor for Files<'_> {
    async fn stat(&mut self, descriptor: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.0.stat(descriptor).await.map(in_general)
    }

    async fn stat_at(
        &mut self,
        directory: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let stat = self.0.stat_at(directory, flags, path).await;
        stat.map(in_general)
    }

    async fn metadata_hash(&mut self, _: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        Ok(NOWHERE)
    }

    async fn metadata_hash_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
    ) -> FsResult<MetadataHashValue> {
        Ok(NOWHERE)
    }

    delegate! {
        advise(offset: u64, bytes: u64, advice: Advice) -> ();
        sync_data() -> ();
        get_flags() -> DescriptorFlags;
        get_type() -> DescriptorType;
        set_size(bytes: u64) -> ();
        set_times(access: NewTimestamp, modification: NewTimestamp) -> ();
        read(bytes: u64, offset: u64) -> (Vec<u8>, bool);
        write(bytes: Vec<u8>, offset: u64) -> u64;
        read_directory() -> Resource<DirectoryEntryStream>;
        sync() -> ();
        create_directory_at(path: String) -> ();
        set_times_at(
            flags: PathFlags, path: String, access: NewTimestamp, modification: NewTimestamp
        ) -> ();
        link_at(flags: PathFlags, from: String, to: Resource<Descriptor>, path: String) -> ();
        open_at(
            flags: PathFlags, path: String, how: OpenFlags, rights: DescriptorFlags
        ) -> Resource<Descriptor>;
        readlink_at(path: String) -> String;
        remove_directory_at(path: String) -> ();
        rename_at(from: String, to: Resource<Descriptor>, path: String) -> ();
        symlink_at(from: String, path: String) -> ();
        unlink_file_at(path: String) -> ();
    }

    async fn is_same_object(
        &mut self,
        one: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        self.0.is_same_object(one, other).await
    }

    fn read_via_stream(
        &mut self,
        descriptor: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<types::InputStream>> {
        self.0.read_via_stream(descriptor, offset)
    }

    fn write_via_stream(
        &mut self,
        descriptor: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<types::OutputStream>> {
        self.0.write_via_stream(descriptor, offset)
    }

    fn append_via_stream(
        &mut self,
        descriptor: Resource<Descriptor>,
    ) -> FsResult<Resource<types::OutputStream>> {
        self.0.append_via_stream(descriptor)
    }

    fn drop(&mut self, descriptor: Resource<Descriptor>) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.0, descriptor)
    }
}

impl HostDirectoryEntryStream for Files<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let number = stream.rep();
        let left = OPEN
            .lock()
            .expect("no thread panics while it holds the lock")
            .remove(&number);
        let mut left = match left {
            Some(left) => left,
            None => self.entries(number).await?,
        };
        let next = left.pop();
        OPEN.lock()
            .expect("no thread panics while it holds the lock")
            .insert(number, left);
        Ok(next)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        OPEN.lock()
            .expect("no thread panics while it holds the lock")
            .remove(&stream.rep());
        HostDirectoryEntryStream::drop(&mut self.0, stream)
    }
}

impl Files<'_> {
    /// All entries of a directory, last name first.
    async fn entries(&mut self, stream: u32) -> FsResult<Vec<DirectoryEntry>> {
        let mut entries = Vec::new();
        while let Some(entry) = self
            .0
            .read_directory_entry(Resource::new_borrow(stream))
            .await?
        {
            entries.push(entry);
        }
        entries.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(entries)
    }
}

/// Identity of every file.
const NOWHERE: MetadataHashValue = MetadataHashValue { lower: 0, upper: 0 };

/// Leaves of a file what follows from its contents. The size of a directory does not: every file
/// system counts it in its own way.
fn in_general(stat: DescriptorStat) -> DescriptorStat {
    let size = match stat.type_ {
        DescriptorType::Directory => 0,
        _ => stat.size,
    };
    DescriptorStat {
        link_count: 1,
        size,
        data_access_timestamp: Some(super::NOW),
        data_modification_timestamp: Some(super::NOW),
        status_change_timestamp: Some(super::NOW),
        ..stat
    }
}
