//! The table of lines. An index is used again, and a reference to the line that had it before finds nothing.

use super::Line;
use crate::state::LineId;

/// Lines by [`LineId`]. A reference to a line that is gone finds nothing, whatever has its index now.
#[derive(Debug, Default)]
pub struct Lines {
    entries: Vec<Indexed>,
    /// Indices without a line.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Indexed {
    /// That of the line, or of the next one if there is none.
    serial: u32,
    line: Option<Line>,
}

impl Lines {
    /// The line.
    #[inline(always)]
    pub fn get(&self, id: LineId) -> Option<&Line> {
        self.entries.get(id.index as usize).filter(|entry| entry.serial == id.serial)?.line.as_ref()
    }

    /// As [`Lines::get`].
    #[inline(always)]
    pub fn get_mut(&mut self, id: LineId) -> Option<&mut Line> {
        self.entries.get_mut(id.index as usize).filter(|entry| entry.serial == id.serial)?.line.as_mut()
    }

    /// As [`Lines::get_mut`], for a reference that is known to be one to a line that is there.
    #[inline(always)]
    pub fn known(&mut self, id: LineId) -> Option<&mut Line> {
        self.entries.get_mut(id.index as usize)?.line.as_mut()
    }

    /// Adds a line.
    pub fn insert(&mut self, line: Line) -> LineId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Indexed { serial: 1, line: None });
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[index as usize];
        entry.line = Some(line);
        LineId { index, serial: entry.serial }
    }

    /// Takes a line out.
    pub fn remove(&mut self, id: LineId) -> Option<Line> {
        let entry = self.entries.get_mut(id.index as usize).filter(|entry| entry.serial == id.serial)?;
        let line = entry.line.take()?;
        // An entry whose serials are used up stays empty.
        if let Some(next) = entry.serial.checked_add(1) {
            entry.serial = next;
            self.free.push(id.index);
        }
        Some(line)
    }

    /// All lines.
    pub fn iter(&self) -> impl Iterator<Item = (LineId, &Line)> {
        let at = |(index, entry): (usize, &'_ Indexed)| LineId { index: index as u32, serial: entry.serial };
        self.entries.iter().enumerate().filter_map(move |it| Some((at(it), it.1.line.as_ref()?)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}
