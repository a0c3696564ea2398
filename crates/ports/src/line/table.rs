//! The table of lines, whose places are used again, and never by a reference to a line that was there before.

use super::Line;
use crate::state::LineId;

/// Lines by [`LineId`]. A reference to a line that is gone finds nothing, whatever is at its place now.
#[derive(Debug, Default)]
pub struct Lines {
    places: Vec<Place>,
    /// Places without a line.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place {
    /// That of the line, or of the next one if there is none.
    serial: u32,
    line: Option<Line>,
}

impl Lines {
    /// The line.
    #[inline(always)]
    pub fn get(&self, id: LineId) -> Option<&Line> {
        self.places.get(id.index as usize).filter(|place| place.serial == id.serial)?.line.as_ref()
    }

    /// As [`Lines::get`].
    #[inline(always)]
    pub fn get_mut(&mut self, id: LineId) -> Option<&mut Line> {
        self.places.get_mut(id.index as usize).filter(|place| place.serial == id.serial)?.line.as_mut()
    }

    /// Adds a line.
    pub fn insert(&mut self, line: Line) -> LineId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { serial: 1, line: None });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.line = Some(line);
        LineId { index, serial: place.serial }
    }

    /// Takes a line out.
    pub fn remove(&mut self, id: LineId) -> Option<Line> {
        let place = self.places.get_mut(id.index as usize).filter(|place| place.serial == id.serial)?;
        let line = place.line.take()?;
        // A place whose serials are used up stays empty.
        if let Some(next) = place.serial.checked_add(1) {
            place.serial = next;
            self.free.push(id.index);
        }
        Some(line)
    }

    /// All lines.
    pub fn iter(&self) -> impl Iterator<Item = (LineId, &Line)> {
        let at = |(index, place): (usize, &'_ Place)| LineId { index: index as u32, serial: place.serial };
        self.places.iter().enumerate().filter_map(move |it| Some((at(it), it.1.line.as_ref()?)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}
