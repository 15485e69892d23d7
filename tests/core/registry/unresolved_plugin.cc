// Calls what no program has, as a plugin does that needs a library it was not linked with.
namespace osprey {
int function_of_another_tree();
extern const int kAnswer;
const int kAnswer = function_of_another_tree();
}  // namespace osprey
