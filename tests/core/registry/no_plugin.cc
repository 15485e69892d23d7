extern "C" int just_a_library() { return 1; }
