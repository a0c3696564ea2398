//! Where things are in the memory that the emulation library shares with the server of names. The build script gives the same numbers to
//! the library's C. All are in bytes, and words are of 64 bits.

/// Constants, and a list of them.
macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* #[allow(missing_docs, reason = "the names of a group are explained together")] pub const $name: u64 = $value;)*
        /// All of them.
        #[allow(dead_code, reason = "the build script gives them to the C compiler")]
        pub const ALL: &[(&str, u64)] = &[$((stringify!($name), $name)),*];
    };
}

/// The places of a table with this number in the last of its three.
pub const fn places(count: u64) -> u64 {
    (count >> FIRST_SHIFT) + (count >> SECOND_SHIFT) + count
}

layout! {
    /// The library's place in every process: below 4 GiB, so that an instruction of five bytes loads it; above what programs without
    /// position independence and their heaps use; below the address sanitizer's shadow.
    BASE = 0x7000_0000;
    /// The page whose calls the net lets pass. Nothing but the library's gate is in it.
    GATE_SIZE = 0x1000;
    /// The gate and the library.
    TEXT_SIZE = 0x6000;
    /// Where a rewritten site enters the library, and where the first one of a process has it made ready.
    ENTER = 0x1000;
    PREPARE = 0x1010;

    /// The header, offsets in it, and the length of the prefix of the topmost layer's files.
    HEADER = TEXT_SIZE;
    HEADER_SIZE = 0x1000;
    /// Not 0: every call goes to the server.
    IS_OFF = 0;
    /// Not 0: calls relative to a descriptor go to the server, and listings of what no layer has to do with.
    DIRS_ARE_OFF = 8;
    /// The device number of /proc.
    PROC_DEV = 16;
    PREFIX_LEN = 24;
    /// The length of the part of the prefix below which all layers are; 0: there is no topmost layer.
    STORE_LEN = 32;
    /// Not 0: what opens to write goes to the server.
    WRITES_ARE_OFF = 40;
    /// Not 0: a call that a signal interrupts has not come to the server, which has done nothing: from Linux 6.17 on.
    SIGNALS_WAIT = 48;
    PREFIX = 64;
    PREFIX_MAX = 256;
    /// The rewritten C library that loaders get: the device, the number, the size and the time of the file that it is made of, and its own
    /// path, up to a zero; the first word is 0 where it is not known.
    LIBRARY = 0x400;
    LIBRARY_PATH = LIBRARY + 32;
    LIBRARY_PATH_MAX = 256;
    /// A word for each remainder of process numbers: how often a working directory there has changed.
    CWDS = 0x800;
    CWDS_COUNT = 256;

    /// The working directories of processes that have just asked for this memory, by remainder of their numbers, laid out as directories are. The
    /// key is the process's number; what it is: the text's length, and above that the word of `CWDS` for which it holds.
    STARTS = HEADER + HEADER_SIZE;
    STARTS_COUNT = 64;
    START_SHIFT = 16;

    /// Every table is three: the 128th part of its number of places, the eighth, and all; what is in the first few places of one that a hash may be in goes there, and
    /// only then into the next. So what the first programs look at, which is what all of them do, lies on few pages: each costs a process a fault.
    FIRST_SHIFT = 7;
    SECOND_SHIFT = 3;
    FIRST_PROBES = 8;

    /// Names that a layer says something of: hashes, with what in the lowest bits. 0: nothing any more.
    NAMES = STARTS + DIR_SIZE * STARTS_COUNT;
    NAMES_COUNT = 1 << 17;
    KIND_BITS = 3;
    /// The server answers.
    NAME_SERVED = 1;
    /// It is a file of the topmost layer's, and no directory.
    NAME_LEAF = 2;
    /// It is a directory of the topmost layer's alone, which is seen as it is there; no name on the way is a link. Names in it that the layers
    /// say nothing of are the host's, which had no such directory; or are not there.
    NAME_OVER = 3;
    NAME_CLOSED = 4;
    /// It is a directory of the topmost layer's that shows the host's, and has no attributes of its own.
    NAME_BOTH = 5;
    /// Files that the layers have to do with: hashes of device and number.
    FILES = NAMES + 8 * places(NAMES_COUNT);
    FILES_COUNT = 1 << 16;
    /// Their attributes, or what is listed in them, are not what the kernel says.
    FILE_SERVED = 1;
    /// The directory is the topmost layer's alone. In a listing, marks are to be left out, and numbers to be replaced.
    FILE_ALONE = 2;
    /// The file is a copy of the host's in the topmost layer, on the same file system: of its attributes, only the number is not what the kernel says. A directory is
    /// as with `FILE_SERVED`.
    FILE_COPY = 3;
    /// What a file is that only stands for one which the server knows: regular, and a mode that hardly another has. The kernel takes the bits for
    /// set-uid and set-gid away when somebody tries to write.
    STANDS_FOR = 0o101_400;
    /// Both kinds of hashes are within so many places of their first, in the last of the three.
    PROBES = 64;
    /// The numbers that programs see of those files, in the same places; 0 where the place is free.
    SHOWN = FILES + 8 * places(FILES_COUNT);

    /// Directories that the server has looked up, by the hash of the path as it was written.
    DIRS = SHOWN + 8 * places(FILES_COUNT);
    DIRS_COUNT = 8192;
    DIR_SIZE = 256;
    DIR_PROBES = 8;
    /// In one: a count that is odd while it is written, the key, the hash of the name, its length and what it is, the name.
    DIR_COUNT = 0;
    DIR_KEY = 8;
    DIR_HASH = 16;
    DIR_WHAT = 24;
    DIR_NAME = 32;
    DIR_NAME_MAX = DIR_SIZE - DIR_NAME;
    /// What it is, in its two lowest bits: the server's; or a name that the layers say nothing of is the host's; or is not there; or this is not.
    DIR_SERVED = 0;
    DIR_HOST = 1;
    DIR_LAYER = 2;
    DIR_MISSING = 3;
    /// The path is the name.
    DIR_IS_PLAIN = 4;
    /// It is the topmost layer's, and the host had none when it was looked up.
    DIR_IS_OVER = 8;
    /// The name's length is above these.
    DIR_LEN_SHIFT = 8;

    /// Where a descriptor is in a listing of the server's: such a position, at its end or not, and the number of the next entry. No file system
    /// gives one so large, nor one so small where they are hashes. A listing that the kernel began goes on there, though the directory was
    /// changed meanwhile.
    LIST_OURS = 0x51 << 24;
    LIST_END = 1 << 23;
    LIST_NUMBER = LIST_END - 1;

    /// The fourth and the fifth argument of the openat by which a process opens this memory: its mode, which means nothing there, and one
    /// more. Together they tell it from all others.
    OPEN_MODE = 0x51aa_4d01;
    OPEN_MARK = 0x3e70_96c5;

    /// What a process asks the server by a readlinkat of `ASK` with a path, in the third argument; the fourth is the descriptor that the path is
    /// relative to. That it looks up the path's directory.
    ASK_DIR = 1;
    /// That it opens the path, with the flags in the lower half of the fifth argument and the mode above; the sixth is the hash of the name that
    /// the process takes the path for. The server answers with a descriptor, or with `MADE` and the file's number: then this is a file of the
    /// topmost layer's, which the process can open. Or with `AS_IT_IS`: the kernel opens the path as it is.
    ASK_OPEN = 2;
    MADE = 1 << 62;
    AS_IT_IS = 1 << 61;
    /// That it opens the C library at the path for the dynamic loader, in the same way.
    ASK_LIBRARY = 3;
    /// That it puts back what was written over the loader. The path means nothing.
    ASK_RESTORE = 4;

    /// From here on the processes write: hashes of what was recorded, and texts of it.
    SEEN = DIRS + DIR_SIZE * places(DIRS_COUNT);
    SEEN_COUNT = 1 << 17;
    SEEN_PROBES = 16;
    /// The first word counts the bytes that are taken after it.
    LOG = SEEN + 8 * places(SEEN_COUNT);
    LOG_SIZE = 4 << 20;
    /// Texts begin at multiples of this, and lie after a word: length, kind and whether it is whole.
    LOG_STEP = 16;
    LOG_OPENED = 1;
    LOG_MISSED = 2;
    LOG_LINK = 3;
    LOG_LISTED = 4;
    LOG_RAN = 5;
    /// From here on what is noted without a text: that a directory was looked at once, twice...
    LOG_DIR = 8;
    SIZE = LOG + LOG_SIZE;
    /// After that, in memory of the process's own: the state of its dynamic loader, laid out as a library's, with this in place of the number of
    /// children. Names relative to the working directory are the server's there.
    LOADER = SIZE;
    LOADER_SIZE = 0x1000;
    LOADER_MARK = 0x51aa_1dad;

    /// FNV-1a.
    HASH_START = 0xcbf2_9ce4_8422_2325;
    HASH_FACTOR = 0x0100_0000_01b3;
    /// Spreads a hash, whose highest bits then say where it is.
    SPREAD = 0x9e37_79b9_7f4a_7c15;
}
