//! Copy-on-write layers over a tree of files, in user space: what is changed lies in a directory of its own, and can be shown, kept or
//! discarded.
//!
//! A [`View`] is the tree that a program sees: the host's with layers over it. It answers by names, and changes the topmost layer
//! only. The crate knows no system calls of programs; its callers do.
//!
//! On disk a layer is a tree of the files that it has. A name that was removed is a symbolic link with contents that no other has; a directory
//! that hides the one below it, or that has attributes of its own, has an empty file of a name that no other has. So every user can make
//! each of them, on every file system, and one rename puts each of them in place.

mod change;
mod changes;
mod checks;
mod copies;
mod copy;
mod diff;
mod keep;
mod leases;
mod list;
mod log;
mod looks;
mod make;
mod originals;
mod path;
mod remains;
mod rename;
mod shared;
mod store;
mod tree;
mod view;
mod way;
mod within;

pub use change::Attribute;
pub use changes::{Changes, Said, Scaffold};
pub use diff::{Change, Kind};
pub use keep::{Conflict, Kept, Recovered};
pub use list::Entry;
pub use log::{Stamp, escaped, unescaped};
pub use path::TreePath;
pub use store::{About, Error, Layer, Store, base_directory};
pub use view::{Elevated, Found, Identity, Links, PATH_MAX, Place, PlainLinks, Resolved, Rules, Target, View};
pub use within::{Bounds, Scope};
