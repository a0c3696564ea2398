typedef int list_t[128];
typedef char word_t[64];
typedef int *far_t;
