//! Skills of each principal.

use super::Store;
use crate::error::StoreError;
use crate::operation::Durability;
use crate::reader::Reader;
use crate::tables::skills::{self, NewSkill, SavedSkill, StoredSkill};

impl Store {
    /// Skills of one principal or of all, by name; of each name the one in use before what waits for a person.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`], or an error of SQLite.
    pub async fn skills(&self, principal: Option<&str>) -> Result<Vec<StoredSkill>, StoreError> {
        let principal = principal.map(str::to_owned);
        self.barrier().await?;
        self.read(move |reader| {
            let found = reader.run(|connection| skills::list(connection, principal.as_deref()))?;
            found.iter().map(|found| found.decode(reader)).collect()
        })
        .await
    }

    /// A skill of a principal: the version in use, or what waits for a person.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`], or an error of SQLite.
    pub async fn skill(
        &self,
        principal: &str,
        name: &str,
        is_proposed: bool,
    ) -> Result<Option<StoredSkill>, StoreError> {
        let (principal, name) = (principal.to_owned(), name.to_owned());
        self.read(move |reader| {
            let found =
                reader.run(|connection| skills::get(connection, &principal, &name, is_proposed))?;
            found.map(|found| found.decode(reader)).transpose()
        })
        .await
    }

    /// Keeps a skill of a principal; returns once that is on disk.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn put_skill(
        &self,
        principal: &str,
        new: NewSkill,
    ) -> Result<SavedSkill, StoreError> {
        self.check_durable()?;
        let (principal, path) = (principal.to_owned(), self.inner.path.clone());
        let bytes = new.skill.source.len() + new.skill.text().len();
        self.write_returning(bytes, Durability::Synced, move |transaction| {
            let reader = Reader {
                connection: transaction,
                path: &path,
            };
            skills::put(transaction, &reader, &principal, new)
        })
        .await
    }

    /// Puts what waits for a person in use. Returns its version; `None` when nothing waits.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn accept_skill(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<u32>, StoreError> {
        self.check_durable()?;
        let (principal, name) = (principal.to_owned(), name.to_owned());
        self.write_returning(0, Durability::Synced, move |transaction| {
            skills::accept(transaction, &principal, &name).map(Ok)
        })
        .await
    }

    /// Removes a skill and what waits under its name. Returns the version that was in use, 0 when only something waited;
    /// `None` when there was nothing, and `Err` with the version that is there when it is not `if_version`.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn remove_skill(
        &self,
        principal: &str,
        name: &str,
        if_version: Option<u32>,
    ) -> Result<Result<Option<u32>, u32>, StoreError> {
        self.check_durable()?;
        let (principal, name) = (principal.to_owned(), name.to_owned());
        self.write_returning(0, Durability::Synced, move |transaction| {
            skills::remove(transaction, &principal, &name, if_version).map(Ok)
        })
        .await
    }
}
