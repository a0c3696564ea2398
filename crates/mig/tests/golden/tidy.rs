// The subsystem tidy, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;
use std::time::Duration;

/// What `pairs` gives back.
#[derive(Debug)]
pub struct PairsReply {
    /// `keys_out`.
    pub keys_out: Vec<i32>,
    /// `values_out`.
    pub values_out: Vec<i32>,
}

/// `pairs`, as it is called within a process.
enum PairsTrap {}

impl mig::Trap for PairsTrap {
    const ID: i32 = 7200;
    const NAME: &'static str = "pairs";
    const TRIED: &'static str = "tidy.pairs";
    const ITEMS: &'static [mig::Item] = &[
        // keys
        mig::Item::new(mig::IN, mig::INTEGER_32, mig::Count::UpTo(4095), 4, 4),
        // values
        mig::Item::new(
            mig::IN | mig::SAME_COUNT,
            mig::INTEGER_32,
            mig::Count::UpTo(4095),
            4,
            4,
        ),
        // keys_out
        mig::Item::new(mig::OUT, mig::INTEGER_32, mig::Count::UpTo(4095), 4, 4),
        // values_out
        mig::Item::new(
            mig::OUT | mig::SAME_COUNT,
            mig::INTEGER_32,
            mig::Count::UpTo(4095),
            4,
            4,
        ),
    ];
}

/// A server of the subsystem tidy: each of its routines is a method.
#[derive(Debug)]
pub struct Tidy(pub mig::SendRight);

impl Tidy {
    /// tidy.defs:22, message 7200:
    /// `routine pairs(server: mach_port_t; in keys: numbers_t, const; in values: numbers_t,
    /// samecount; out keys_out: numbers_t; out values_out: numbers_t, samecount);`
    pub fn pairs(&self, keys: &[i32], values: &[i32]) -> Result<PairsReply, mig::Error> {
        if !mig::may_call::<PairsTrap>(&self.0) {
            return PairsTrap::send(self, keys, values);
        }
        let keys_memory = mig::Packed::new(keys);
        let values_memory = mig::Packed::new(values);
        let mut keys_out_memory = mig::List::<i32>::new(4095);
        let mut values_out_memory = mig::List::<i32>::new(4095);
        let mut call = mig::Call::<PairsTrap, 6>::new();
        call.array(&keys_memory);
        call.array(&values_memory);
        call.list(&mut keys_out_memory);
        call.list(&mut values_out_memory);
        let Some(made) = call.make(&self.0) else {
            return PairsTrap::send(self, keys, values);
        };
        made?;
        let keys_out: Vec<i32> = keys_out_memory.take()?;
        let values_out: Vec<i32> = values_out_memory.take_same(keys_out.len())?;
        Ok(PairsReply {
            keys_out,
            values_out,
        })
    }

    /// tidy.defs:30, message 7201:
    /// `routine tidy(server: mach_port_t; in list: far_numbers_t, auto; out list_out:
    /// far_numbers_t, dealloc, overwrite);`
    pub fn tidy(&self, list: &[i32]) -> Result<mig::Array<i32>, mig::Error> {
        let mut request = mig::Request::new(7201, "tidy.tidy");
        request.memory(mig::INTEGER_32, u32::MAX, list);
        request.call(&self.0, 64, |reply| {
            let list_out: mig::Array<i32> = reply.memory(mig::INTEGER_32, u32::MAX)?;
            Ok(list_out)
        })
    }

    /// tidy.defs:38, message 7202:
    /// `routine hurry(server: mach_port_t; in value: real_t; out same: real_t; waittime patience:
    /// natural_t);`
    pub fn hurry(&self, value: f64, patience: Duration) -> Result<f64, mig::Error> {
        let mut request = mig::Request::new(7202, "tidy.hurry");
        request.send_time(Duration::from_millis(5000));
        request.wait_time(patience);
        request.value(mig::REAL_64, &value);
        request.call(&self.0, 64, |reply| {
            let same: f64 = reply.value(mig::REAL_64)?;
            Ok(same)
        })
    }

    /// tidy.defs:46, message 7203:
    /// `routine hurry_on(server: mach_port_t; sendtime patience: natural_t; inout value: int);`
    pub fn hurry_on(&self, patience: Duration, value: i32) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(7203, "tidy.hurry_on");
        request.send_time(patience);
        request.value(mig::INTEGER_32, &value);
        request.call(&self.0, 64, |reply| {
            let value: i32 = reply.value(mig::INTEGER_32)?;
            Ok(value)
        })
    }

    /// tidy.defs:53, message 7204:
    /// `simpleroutine hint(server: mach_port_t; in values: numbers_t; sendtime patience:
    /// natural_t);`
    pub fn hint(&self, values: &[i32], patience: Duration) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(7204, "tidy.hint");
        request.send_time(patience);
        request.list(mig::INTEGER_32, 4095, values);
        request.send(&self.0)
    }
}

impl PairsTrap {
    /// tidy.defs:22, message 7200:
    /// `routine pairs(server: mach_port_t; in keys: numbers_t, const; in values: numbers_t,
    /// samecount; out keys_out: numbers_t; out values_out: numbers_t, samecount);`
    #[inline(never)]
    fn send(client: &Tidy, keys: &[i32], values: &[i32]) -> Result<PairsReply, mig::Error> {
        let mut request = mig::Request::new(7200, "tidy.pairs");
        request.list(mig::INTEGER_32, 4095, keys);
        request.same_count(keys.len(), values.len());
        request.list(mig::INTEGER_32, 4095, values);
        request.call(&client.0, 32832, |reply| {
            let keys_out: Vec<i32> = reply.list(mig::INTEGER_32, 4095)?;
            let values_out: Vec<i32> = reply.list(mig::INTEGER_32, 4095)?;
            reply.same_count(keys_out.len(), values_out.len())?;
            Ok(PairsReply {
                keys_out,
                values_out,
            })
        })
    }
}

/// A server of the subsystem tidy. An error that a routine returns is its caller's result.
pub trait TidyServer {
    /// tidy.defs:22, message 7200:
    /// `routine pairs(server: mach_port_t; in keys: numbers_t, const; in values: numbers_t,
    /// samecount; out keys_out: numbers_t; out values_out: numbers_t, samecount);`
    fn pairs(
        &mut self,
        server: mig::Target,
        keys: Vec<i32>,
        values: Vec<i32>,
    ) -> Result<PairsReply, mig::Code>;

    /// tidy.defs:30, message 7201:
    /// `routine tidy(server: mach_port_t; in list: far_numbers_t, auto; out list_out:
    /// far_numbers_t, dealloc, overwrite);`
    fn tidy(
        &mut self,
        server: mig::Target,
        list: mig::Array<i32>,
    ) -> Result<mig::Array<i32>, mig::Code>;

    /// tidy.defs:38, message 7202:
    /// `routine hurry(server: mach_port_t; in value: real_t; out same: real_t; waittime patience:
    /// natural_t);`
    fn hurry(&mut self, server: mig::Target, value: f64) -> Result<f64, mig::Code>;

    /// tidy.defs:46, message 7203:
    /// `routine hurry_on(server: mach_port_t; sendtime patience: natural_t; inout value: int);`
    fn hurry_on(&mut self, server: mig::Target, value: i32) -> Result<i32, mig::Code>;

    /// tidy.defs:53, message 7204:
    /// `simpleroutine hint(server: mach_port_t; in values: numbers_t; sendtime patience:
    /// natural_t);`
    fn hint(&mut self, server: mig::Target, values: Vec<i32>) -> Result<(), mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: TidyServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        7200 => serve_pairs,
        7201 => serve_tidy,
        7202 => serve_hurry,
        7203 => serve_hurry_on,
        7204 => serve_hint,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_pairs<S: TidyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let keys: Vec<i32> = request.list(mig::INTEGER_32, 4095)?;
    let values: Vec<i32> = request.list(mig::INTEGER_32, 4095)?;
    request.same_count(keys.len(), values.len())?;
    request.finish()?;
    let out = server.pairs(request.target(), keys, values)?;
    reply.list(mig::INTEGER_32, 4095, &out.keys_out);
    reply.same_count(out.keys_out.len(), out.values_out.len());
    reply.list(mig::INTEGER_32, 4095, &out.values_out);
    Ok(())
}

fn serve_tidy<S: TidyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let list: mig::Array<i32> = request.memory(mig::INTEGER_32, u32::MAX)?;
    request.finish()?;
    let list_out = server.tidy(request.target(), list)?;
    reply.memory(mig::INTEGER_32, u32::MAX, list_out);
    Ok(())
}

fn serve_hurry<S: TidyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let value: f64 = request.value(mig::REAL_64)?;
    request.finish()?;
    let same = server.hurry(request.target(), value)?;
    reply.value(mig::REAL_64, &same);
    Ok(())
}

fn serve_hurry_on<S: TidyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let value: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let value = server.hurry_on(request.target(), value)?;
    reply.value(mig::INTEGER_32, &value);
    Ok(())
}

fn serve_hint<S: TidyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let values: Vec<i32> = request.list(mig::INTEGER_32, 4095)?;
    request.finish()?;
    server.hint(request.target(), values)
}

impl<S: TidyServer> mig::Trapped<S> for PairsTrap {
    fn serve(server: &mut S, call: &mut mig::Called<Self>) -> Result<(), mig::Code> {
        let keys: Vec<i32> = call.list()?;
        let values: Vec<i32> = call.list()?;
        let out = server.pairs(call.target(), keys, values)?;
        call.give(|results| {
            results.list(&out.keys_out);
            results.list(&out.values_out);
        })
    }
}

/// The routines that can be called within a process, for `mig::serve_traps` and its kin.
pub fn traps<S: TidyServer, W: mig::Way<S>>() -> mig::Traps<S, W> {
    let mut table = mig::Traps::new(7200, 5);
    table.add::<PairsTrap>();
    table
}
