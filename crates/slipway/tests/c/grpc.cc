/* grpc server PATH, grpc client PATH COUNT: echoes over a local socket, in calls with one message each way and in calls that go on. */
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

static void check(bool good, const std::string &what)
{
    if (!good) {
        std::fprintf(stderr, "%s\n", what.c_str());
        std::exit(1);
    }
}

/* Sends each message back. */
class Echo : public grpc::ServerGenericBidiReactor {
public:
    Echo() { StartRead(&message); }
    void OnReadDone(bool ok) override
    {
        if (ok)
            StartWrite(&message);
        else
            Finish(grpc::Status::OK);
    }
    void OnWriteDone(bool ok) override
    {
        if (ok)
            StartRead(&message);
        else
            Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

private:
    grpc::ByteBuffer message;
};

class Service : public grpc::CallbackGenericService {
    grpc::ServerGenericBidiReactor *CreateReactor(grpc::GenericCallbackServerContext *) override { return new Echo; }
};

static grpc::ByteBuffer bytes(const std::string &text)
{
    grpc::Slice slice(text);
    return grpc::ByteBuffer(&slice, 1);
}

static std::string text(const grpc::ByteBuffer &buffer)
{
    std::vector<grpc::Slice> slices;
    check(buffer.Dump(&slices).ok(), "no message");
    std::string all;
    for (const grpc::Slice &slice : slices)
        all.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
    return all;
}

/* One message, and its answer. */
static void call(grpc::GenericStub &stub, const std::string &sent)
{
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    grpc::ByteBuffer request = bytes(sent), answer;
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, "/test/echo", grpc::StubOptions(), &request, &answer, [&](grpc::Status status) { ended.set_value(status); });
    grpc::Status status = ended.get_future().get();
    check(status.ok(), status.error_message());
    check(text(answer) == sent, "another answer");
}

/* Many messages in one call: as many as `ahead` are sent before the first answer is read. */
static void stream(grpc::GenericStub &stub, int count, int ahead)
{
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, "/test/echo", &queue);
    auto done = [&] {
        void *tag;
        bool ok = false;
        check(queue.Next(&tag, &ok) && ok, "the call ended");
    };
    call->StartCall(nullptr), done();
    for (int sent = 0, read = 0; read < count; read++) {
        for (; sent < count && sent <= read + ahead; sent++)
            call->Write(bytes(std::to_string(sent)), nullptr), done();
        grpc::ByteBuffer answer;
        call->Read(&answer, nullptr), done();
        check(text(answer) == std::to_string(read), "another answer");
    }
    grpc::Status status;
    call->WritesDone(nullptr), done();
    call->Finish(&status, nullptr), done();
    check(status.ok(), status.error_message());
}

int main(int argc, char **argv)
{
    check(argc > 2, "grpc server PATH, grpc client PATH COUNT");
    std::string address = std::string("unix:") + argv[2];
    if (argv[1] == std::string("server")) {
        Service service;
        grpc::ServerBuilder builder;
        builder.AddListeningPort(address, grpc::InsecureServerCredentials());
        builder.RegisterCallbackGenericService(&service);
        builder.BuildAndStart()->Wait();
    }
    grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    call(stub, std::string(3000000, 'x'));
    int count = std::atoi(argv[3]);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; thread++)
        threads.emplace_back([&] { stream(stub, count, 5 * thread); });
    for (int number = 0; number < count; number++)
        call(stub, std::to_string(number));
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}
