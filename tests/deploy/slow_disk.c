/* A disk that hangs or is slow, for tests: preloaded, it delays fsync and fdatasync.
 *
 * DISK_HANGS_WHILE: no sync returns while this file exists. DISK_DELAY_MS: every sync takes so much longer.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms) {
    struct timespec left = {ms / 1000, (ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void delay(void) {
    const char *file = getenv("DISK_HANGS_WHILE"), *ms = getenv("DISK_DELAY_MS");
    if (ms != NULL) wait_ms(atol(ms));
    while (file != NULL && access(file, F_OK) == 0) wait_ms(20);
}

int fsync(int descriptor) {
    delay();
    return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    delay();
    return (int)syscall(SYS_fdatasync, descriptor);
}
