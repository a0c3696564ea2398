/* idle N R: opens N connections and makes R round trips on each, then says "ready"; again for every
   line of its input. Ends with its input. */
#include <X11/Xlib.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    Display **displays = calloc(count, sizeof *displays);
    char line[64];

    for (int i = 0; i < count; i++) {
        displays[i] = XOpenDisplay(NULL);
        if (!displays[i]) {
            fprintf(stderr, "idle: connection %d of %d failed\n", i + 1, count);
            return 1;
        }
    }
    do {
        for (int r = 0; r < rounds; r++) {
            for (int i = 0; i < count; i++) {
                Display *d = displays[i];
                XDrawPoint(d, DefaultRootWindow(d), DefaultGC(d, 0), i % 640, r % 480);
                XSync(d, False);
            }
        }
        puts("ready");
        fflush(stdout);
    } while (fgets(line, sizeof line, stdin));
    for (int i = 0; i < count; i++)
        XCloseDisplay(displays[i]);
    return 0;
}
