#include "core/io/pickle.h"

#include <charconv>
#include <cstring>
#include <unordered_map>

#include "core/base/error.h"
#include "core/io/pickle_calls.h"

namespace osprey {
namespace {

// Opcodes of protocols 0 to 5, as in Python's pickletools.
enum Opcode : uint8_t {
  kProto = 0x80,
  kStop = '.',
  kFrame = 0x95,
  kMark = '(',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kInt = 'I',
  kLong = 'L',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kFloat = 'F',
  kBinFloat = 'G',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinBytes8 = 0x8e,
  kEmptyList = ']',
  kList = 'l',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyDict = '}',
  kDict = 'd',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kBuild = 'b',
  kNewObj = 0x81,
  kBinPersId = 'Q',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kGet = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kMemoize = 0x94,
};

// Far above what the objects of a checkpoint take (tensors lie outside the pickle), and harmless.
constexpr size_t kMostBytes = size_t{256} << 20;

// Python's pickle machine: a stack, marks on it, and a memo.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& where, PickleArena& arena)
      : bytes_(bytes), where_(where), arena_(arena) {}

  PickleObject* run() {
    for (;;) {
      const auto opcode = number<uint8_t>();
      if (opcode == kStop) return pop();
      if (arena_.bytes() > kMostBytes) fail("its objects would take more than 256 MiB");
      if (!push_scalar(opcode) && !push_text(opcode) && !change_container(opcode) && !use_memo(opcode) &&
          !call(opcode) && !control(opcode)) {
        fail("unknown opcode ", static_cast<int>(opcode));
      }
    }
  }
  size_t consumed() const { return position_; }

 private:
  using Items = std::vector<PickleObject*>;

  template <typename... Args>
  [[noreturn]] void fail(const Args&... reason) const {
    throw UserError(str_cat(where_, ": malformed pickle at byte ", position_, ": ", reason...));
  }

  // --- Input
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - position_) fail("it breaks off");
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("it breaks off");
    const std::string_view text = take(end - position_);
    ++position_;
    return text;
  }
  template <typename T>
  T parse_line() {
    std::string_view text = line();
    if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
    T value{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
      fail("'", text, "' is not a number");
    return value;
  }

  // --- Stack
  PickleObject* push(PickleKind kind) {
    stack_.push_back(arena_.add(kind));
    return stack_.back();
  }
  PickleObject* top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("the stack is empty");
    return stack_.back();
  }
  PickleObject* pop() {
    PickleObject* object = top();
    stack_.pop_back();
    return object;
  }
  Items pop_to_mark() {
    if (marks_.empty()) fail("there is no mark");
    Items items(stack_.begin() + static_cast<int64_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void append_to_top(const Items& items, PickleKind kind) {
    if (!top()->is(kind)) fail("items for an object that is no container");
    if (kind == PickleKind::kDict && items.size() % 2 == 1) fail("a key without its value");
    top()->items.insert(top()->items.end(), items.begin(), items.end());
    arena_.charge(items.size() * sizeof(PickleObject*));
  }

  // --- Opcodes, by family; false when the opcode belongs to another.
  void push_integer(int64_t value, PickleKind kind = PickleKind::kInt) { push(kind)->integer = value; }

  // Two's complement, little-endian, any length.
  void push_long(std::string_view digits) {
    const bool negative = !digits.empty() && (digits.back() & 0x80);
    if (digits.size() <= 8) {
      uint64_t value = negative ? ~uint64_t{0} : 0;
      std::memcpy(&value, digits.data(), digits.size());
      return push_integer(static_cast<int64_t>(value));
    }
    double value = negative ? -1 : 0;
    for (size_t i = digits.size(); i-- > 0;) value = value * 256 + static_cast<uint8_t>(digits[i]);
    push(PickleKind::kFloat)->number = value;
  }

  void push_double(std::string_view big_endian) {
    uint64_t bits = 0;
    for (const char c : big_endian) bits = bits << 8 | static_cast<uint8_t>(c);
    std::memcpy(&push(PickleKind::kFloat)->number, &bits, sizeof bits);
  }

  bool push_scalar(uint8_t opcode) {
    switch (opcode) {
      case kNone:
        push(PickleKind::kNone);
        return true;
      case kNewTrue:
        push_integer(1, PickleKind::kBool);
        return true;
      case kNewFalse:
        push_integer(0, PickleKind::kBool);
        return true;
      case kInt:
      case kLong:
        push_integer(parse_line<int64_t>());
        return true;
      case kBinInt:
        push_integer(number<int32_t>());
        return true;
      case kBinInt1:
        push_integer(number<uint8_t>());
        return true;
      case kBinInt2:
        push_integer(number<uint16_t>());
        return true;
      case kLong1:
        push_long(take(number<uint8_t>()));
        return true;
      case kLong4:
        push_long(take(number<uint32_t>()));
        return true;
      case kFloat:
        push(PickleKind::kFloat)->number = parse_line<double>();
        return true;
      case kBinFloat:
        push_double(take(8));
        return true;
      default:
        return false;
    }
  }

  bool push_text(uint8_t opcode) {
    const auto push_bytes = [&](PickleKind kind, uint64_t count) {
      push(kind)->text = take(count);
      return true;
    };
    switch (opcode) {
      case kBinString:
      case kBinUnicode:
        return push_bytes(PickleKind::kString, number<uint32_t>());
      case kShortBinString:
      case kShortBinUnicode:
        return push_bytes(PickleKind::kString, number<uint8_t>());
      case kBinUnicode8:
        return push_bytes(PickleKind::kString, number<uint64_t>());
      case kBinBytes:
        return push_bytes(PickleKind::kBytes, number<uint32_t>());
      case kShortBinBytes:
        return push_bytes(PickleKind::kBytes, number<uint8_t>());
      case kBinBytes8:
        return push_bytes(PickleKind::kBytes, number<uint64_t>());
      default:
        return false;
    }
  }

  bool push_container(PickleKind kind, const Items& items) {
    push(kind)->items = items;
    arena_.charge(items.size() * sizeof(PickleObject*));
    return true;
  }
  bool push_tuple(size_t count) {
    Items items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return push_container(PickleKind::kTuple, items);
  }
  bool append(PickleKind kind, const Items& items) {
    append_to_top(items, kind);
    return true;
  }

  bool change_container(uint8_t opcode) {
    switch (opcode) {
      case kEmptyList:
        return push_container(PickleKind::kList, {});
      case kList:
        return push_container(PickleKind::kList, pop_to_mark());
      case kAppend:
        return append(PickleKind::kList, {pop()});
      case kAppends:
        return append(PickleKind::kList, pop_to_mark());
      case kEmptyTuple:
        return push_container(PickleKind::kTuple, {});
      case kTuple:
        return push_container(PickleKind::kTuple, pop_to_mark());
      case kTuple1:
        return push_tuple(1);
      case kTuple2:
        return push_tuple(2);
      case kTuple3:
        return push_tuple(3);
      case kEmptyDict:
        return push_container(PickleKind::kDict, {});
      case kDict: {
        const Items items = pop_to_mark();
        push(PickleKind::kDict);
        return append(PickleKind::kDict, items);
      }
      case kSetItem: {
        PickleObject* value = pop();
        PickleObject* key = pop();
        return append(PickleKind::kDict, {key, value});
      }
      case kSetItems:
        return append(PickleKind::kDict, pop_to_mark());
      case kEmptySet:
        return push_container(PickleKind::kSet, {});
      case kAddItems:
        return append(PickleKind::kSet, pop_to_mark());
      case kFrozenSet:
        return push_container(PickleKind::kSet, pop_to_mark());
      default:
        return false;
    }
  }

  bool put(uint64_t slot) {
    memo_[slot] = top();
    return true;
  }
  bool get(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) fail("memo entry ", slot, " is missing");
    stack_.push_back(found->second);
    return true;
  }
  bool use_memo(uint8_t opcode) {
    switch (opcode) {
      case kPut:
        return put(parse_line<uint64_t>());
      case kBinPut:
        return put(number<uint8_t>());
      case kLongBinPut:
        return put(number<uint32_t>());
      case kMemoize:
        return put(memo_.size());
      case kGet:
        return get(parse_line<uint64_t>());
      case kBinGet:
        return get(number<uint8_t>());
      case kLongBinGet:
        return get(number<uint32_t>());
      default:
        return false;
    }
  }

  void push_global(std::string_view module, std::string_view name) {
    push(PickleKind::kGlobal)->text = str_cat(module, ".", name);
    arena_.charge(module.size() + name.size());
  }

  bool call(uint8_t opcode) {
    switch (opcode) {
      case kGlobal: {
        const std::string_view module = line();
        push_global(module, line());
        return true;
      }
      case kStackGlobal: {
        const PickleObject* name = pop();
        const PickleObject* module = pop();
        push_global(module->text, name->text);
        return true;
      }
      case kReduce:
      case kNewObj: {
        PickleObject* args = pop();
        const PickleObject* function = pop();
        stack_.push_back(internal::pickle_call(*function, *args, where_, arena_));
        return true;
      }
      // Attributes: of an OrderedDict its `_metadata`, of a numpy dtype its byte order. Nothing that matters
      // here.
      case kBuild:
        pop();
        top();
        return true;
      case kBinPersId: {
        const PickleObject* id = pop();
        stack_.push_back(internal::pickle_storage(*id, where_, arena_));
        return true;
      }
      default:
        return false;
    }
  }

  bool control(uint8_t opcode) {
    switch (opcode) {
      case kProto:
        take(1);
        return true;
      case kFrame:
        take(8);
        return true;
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kPop:
        pop();
        return true;
      case kPopMark:
        pop_to_mark();
        return true;
      case kDup:
        stack_.push_back(top());
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::string& where_;
  PickleArena& arena_;
  size_t position_ = 0;
  Items stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleObject*> memo_;
};

}  // namespace

const PickleObject* PickleObject::find(const std::string& key) const {
  if (kind != PickleKind::kDict) return nullptr;
  for (size_t i = items.size(); i >= 2; i -= 2) {  // a later entry of the same key replaces an earlier one
    const PickleObject* name = items[i - 2];
    if (name->is(PickleKind::kString) && name->text == key) return items[i - 1];
  }
  return nullptr;
}

PickleObject* PickleArena::integer(int64_t value, PickleKind kind) {
  PickleObject* object = add(kind);
  object->integer = value;
  return object;
}

PickleObject* PickleArena::number(double value) {
  PickleObject* object = add(PickleKind::kFloat);
  object->number = value;
  return object;
}

PickleObject* PickleArena::text(const std::string& value) {
  PickleObject* object = add(PickleKind::kString);
  object->text = value;
  return object;
}

PickleObject* PickleArena::tensor(const Tensor& value) {
  PickleObject* object = add(PickleKind::kTensor);
  object->tensor = value;
  return object;
}

std::pair<PickleObject*, size_t> parse_pickle(std::string_view bytes, const std::string& where,
                                              PickleArena& arena) {
  Machine machine(bytes, where, arena);
  PickleObject* root = machine.run();
  return {root, machine.consumed()};
}

}  // namespace osprey
