//! The clients of the seed's table, as programs of their own on libxcb: munching squares, and a maze that is drawn and solved.

use crate::harness::format::median;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use slipway_transport::status::{self, Transport};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ConnectionExt, CoordMode, CreateGCAux, CreateWindowAux, GX, Gcontext, Point, Rectangle, Segment, Window, WindowClass,
};
use x11rb::xcb_ffi::{XCBConnection, load_libxcb};

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Each iteration draws 256 points of a square in one request, inverting them, and waits for the server.
    Muncher,
    /// Each iteration draws a maze and its solution, with a request for each wall and step, and waits for the server at the end.
    Maze,
}

/// What a client found, in microseconds an iteration: medians.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// What its connection went over: a [`Transport`]'s name.
    pub transport: String,
    pub total: f64,
    /// The muncher's, where each iteration sends its request twice.
    pub twice: Option<f64>,
    /// What the client's own code took of `total`, up to libxcb's buffer.
    pub client: Option<f64>,
}

/// Iterations of the muncher that are timed as one.
const CHUNK: u32 = 64;
/// A side of the muncher's window, in pixels.
const SIDE: u16 = 256;
/// Columns and rows of the maze, and the side of a cell in pixels.
const MAZE: (usize, usize) = (80, 60);
const CELL: i16 = 12;

/// `slipway-bench x11-client`: runs the program on DISPLAY for so many seconds, and prints a [`Found`] as JSON.
pub fn run(program: Program, seconds: f64) -> anyhow::Result<()> {
    load_libxcb().context("libxcb.so.1 can't be loaded; install it with: apt-get install libxcb1")?;
    let (x, screen) = XCBConnection::connect(None).context("no connection to the X server of DISPLAY")?;
    let canvas = Canvas::new(&x, screen)?;
    let length = Duration::from_secs_f64(seconds);
    let mut found = match program {
        Program::Muncher => munch(&canvas, length)?,
        Program::Maze => mazes(&canvas, length)?,
    };
    let display = std::env::var("DISPLAY").context("DISPLAY")?;
    let display = display.trim_start_matches(':').split('.').next().and_then(|number| number.parse().ok());
    // A server without hooks doesn't answer.
    let status = display.and_then(|display| status::query(display).ok());
    let mine = status.and_then(|status| status.connections.into_iter().find(|client| client.pid == std::process::id()));
    found.transport = format!("{:?}", mine.map_or(Transport::Socket, |client| client.transport));
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

/// A window to draw in.
struct Canvas<'a> {
    x: &'a XCBConnection,
    window: Window,
    /// Inverts what it draws over; draws; wipes out.
    invert: Gcontext,
    draw: Gcontext,
    wipe: Gcontext,
}

impl<'a> Canvas<'a> {
    fn new(x: &'a XCBConnection, screen: usize) -> anyhow::Result<Self> {
        let screen = &x.setup().roots[screen];
        let (black, white) = (screen.black_pixel, screen.white_pixel);
        let window = x.generate_id()?;
        let look = CreateWindowAux::new().background_pixel(white).override_redirect(1);
        let (width, height) = (MAZE.0 as u16 * CELL as u16, MAZE.1 as u16 * CELL as u16);
        x.create_window(screen.root_depth, window, screen.root, 0, 0, width, height, 0, WindowClass::INPUT_OUTPUT, 0, &look)?;
        x.map_window(window)?;
        let context = |function, colour| -> anyhow::Result<Gcontext> {
            let id = x.generate_id()?;
            x.create_gc(id, window, &CreateGCAux::new().function(function).foreground(colour).graphics_exposures(0))?;
            Ok(id)
        };
        let (invert, draw, wipe) = (context(GX::XOR, black ^ white)?, context(GX::COPY, black)?, context(GX::COPY, white)?);
        let canvas = Self { x, window, invert, draw, wipe };
        canvas.sync()?;
        Ok(canvas)
    }

    /// As XSync: waits until the server has done everything.
    fn sync(&self) -> anyhow::Result<()> {
        self.x.get_input_focus()?.reply()?;
        Ok(())
    }
}

/// As the program of the X distribution: the points of a square's diagonal, exclusive-or'ed with the iteration's number.
fn munch(canvas: &Canvas<'_>, length: Duration) -> anyhow::Result<Found> {
    let (mut times, mut clients) = ([Vec::new(), Vec::new()], Vec::new());
    let end = Instant::now() + length;
    let mut number = 0;
    // The first chunks are of a connection that has just begun.
    while times[1].len() < 8 || Instant::now() < end {
        for (times, times_each) in times.iter_mut().zip([1, 2]) {
            let mut client = Duration::ZERO;
            let start = Instant::now();
            for _ in 0..CHUNK {
                let begun = Instant::now();
                let points: Vec<Point> = (0..SIDE).map(|x| Point { x: x as i16, y: (x ^ (number % SIDE)) as i16 }).collect();
                for _ in 0..times_each {
                    canvas.x.poly_point(CoordMode::ORIGIN, canvas.window, canvas.invert, &points)?;
                }
                client += begun.elapsed();
                canvas.sync()?;
                number = number.wrapping_add(1);
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CHUNK));
            if times_each == 1 {
                clients.push(client.as_secs_f64() * 1e6 / f64::from(CHUNK));
            }
        }
    }
    let later = |times: &[f64]| median(&times[4..]);
    Ok(Found {
        transport: String::new(),
        total: later(&times[0]).context("no iteration")?,
        twice: later(&times[1]),
        client: later(&clients),
    })
}

/// A maze: which of the walls to the east and to the south of each cell stand.
struct Maze {
    east: Vec<bool>,
    south: Vec<bool>,
}

impl Maze {
    /// By walking at random through cells that were not seen yet, and back.
    fn new(mut seed: u64) -> Self {
        let mut maze = Self { east: vec![true; MAZE.0 * MAZE.1], south: vec![true; MAZE.0 * MAZE.1] };
        let mut seen = vec![false; MAZE.0 * MAZE.1];
        let mut path = vec![0];
        seen[0] = true;
        while let Some(&at) = path.last() {
            let fresh: Vec<usize> = neighbours(at).filter(|next| !seen[*next]).collect();
            if fresh.is_empty() {
                path.pop();
                continue;
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let next = fresh[(seed >> 33) as usize % fresh.len()];
            *maze.wall(at, next) = false;
            seen[next] = true;
            path.push(next);
        }
        maze
    }

    /// The wall between two neighbours.
    fn wall(&mut self, one: usize, other: usize) -> &mut bool {
        let (first, second) = (one.min(other), one.max(other));
        if second == first + 1 { &mut self.east[first] } else { &mut self.south[first] }
    }
}

/// The cells beside a cell.
fn neighbours(at: usize) -> impl Iterator<Item = usize> {
    let (column, row) = (at % MAZE.0, at / MAZE.0);
    let all = [
        (column + 1 < MAZE.0).then_some(at + 1),
        (row + 1 < MAZE.1).then_some(at + MAZE.0),
        column.checked_sub(1).map(|_| at - 1),
        row.checked_sub(1).map(|_| at.wrapping_sub(MAZE.0)),
    ];
    all.into_iter().flatten()
}

fn corner(at: usize) -> (i16, i16) {
    ((at % MAZE.0) as i16 * CELL, (at / MAZE.0) as i16 * CELL)
}

/// Draws the walls, then the way from the first cell to the last with every step that is tried and taken back.
fn draw(canvas: &Canvas<'_>, maze: &mut Maze) -> anyhow::Result<()> {
    let Canvas { x, window, draw, wipe, .. } = *canvas;
    let all = Rectangle { x: 0, y: 0, width: MAZE.0 as u16 * CELL as u16, height: MAZE.1 as u16 * CELL as u16 };
    x.poly_fill_rectangle(window, wipe, &[all])?;
    for at in 0..MAZE.0 * MAZE.1 {
        let (left, top) = corner(at);
        let (right, bottom) = (left + CELL, top + CELL);
        for (stands, x1, y1) in [(maze.east[at], right, top), (maze.south[at], left, bottom)] {
            if stands {
                x.poly_segment(window, draw, &[Segment { x1, y1, x2: right, y2: bottom }])?;
            }
        }
    }
    let step = |at: usize, colour| {
        let (left, top) = corner(at);
        let dot = Rectangle { x: left + CELL / 3, y: top + CELL / 3, width: CELL as u16 / 2, height: CELL as u16 / 2 };
        x.poly_fill_rectangle(window, colour, &[dot]).map(drop)
    };
    let mut seen = vec![false; MAZE.0 * MAZE.1];
    let mut path = vec![0];
    while let Some(&at) = path.last() {
        if !seen[at] {
            seen[at] = true;
            step(at, draw)?;
        }
        if at + 1 == seen.len() {
            break;
        }
        match neighbours(at).find(|next| !seen[*next] && !*maze.wall(at, *next)) {
            Some(next) => path.push(next),
            None => {
                step(at, wipe)?;
                path.pop();
            }
        }
    }
    canvas.sync()
}

fn mazes(canvas: &Canvas<'_>, length: Duration) -> anyhow::Result<Found> {
    let mut times = Vec::new();
    let end = Instant::now() + length;
    let mut seed = 0;
    while times.len() < 24 || Instant::now() < end {
        seed += 1;
        let start = Instant::now();
        draw(canvas, &mut Maze::new(seed))?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    // The first mazes are of a connection that has just begun.
    let total = median(&times[16..]).context("no maze")?;
    Ok(Found { transport: String::new(), total, twice: None, client: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_a_maze_is_reached_in_one_way() {
        let maze = Maze::new(7);
        let inner = |at: &usize| (at % MAZE.0 + 1 < MAZE.0, at / MAZE.0 + 1 < MAZE.1);
        let open = |at: usize| {
            let (east, south) = inner(&at);
            usize::from(east && !maze.east[at]) + usize::from(south && !maze.south[at])
        };
        // A tree of all cells.
        assert_eq!((0..MAZE.0 * MAZE.1).map(open).sum::<usize>(), MAZE.0 * MAZE.1 - 1);
        let mut maze = maze;
        let mut reached = vec![0];
        let mut seen = vec![false; MAZE.0 * MAZE.1];
        seen[0] = true;
        while let Some(at) = reached.pop() {
            for next in neighbours(at) {
                if !seen[next] && !*maze.wall(at, next) {
                    seen[next] = true;
                    reached.push(next);
                }
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}
