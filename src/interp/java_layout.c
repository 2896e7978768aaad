/* java_layout.c: the tables of a Java virtual machine. See java.h. */
#include <string.h>

#include "interp/java.h"

const char *const pt_java_symbols[PT_JAVA_SYMBOLS] = {
    [PT_JAVA_FIELDS] = "gHotSpotVMStructs",
    [PT_JAVA_FIELD_STRIDE] = "gHotSpotVMStructEntryArrayStride",
    [PT_JAVA_FIELD_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
    [PT_JAVA_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
    [PT_JAVA_FIELD_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
    [PT_JAVA_FIELD_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
    [PT_JAVA_TYPES] = "gHotSpotVMTypes",
    [PT_JAVA_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
    [PT_JAVA_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
    [PT_JAVA_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
};

bool pt_java_is_file(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, "libjvm.so") == 0;
}

enum {
    OLD = 1, /* versions up to 22 have the field */
    NEW = 2, /* versions from 25 on have the field */
    BOTH = OLD | NEW,
    MAYBE = 0, /* some builds have the field */
};

/* A field, or (without a name) the size of a type. A later row for the same place is another name
 * of the field. */
typedef struct {
    const char *type, *field;
    uint16_t place; /* in pt_java_layout */
    uint8_t in;
} wanted_field;

#define AT(name) offsetof(pt_java_layout, name)
static const wanted_field fields[] = {
    {"GrowableArrayBase", "_len", AT(array_count), MAYBE},
    {"GenericGrowableArray", "_len", AT(array_count), MAYBE},
    {"GrowableArray<int>", "_data", AT(array_items), BOTH},
    {"CodeHeap", "_memory", AT(heap_memory), BOTH},
    {"CodeHeap", "_segmap", AT(heap_segments), BOTH},
    {"CodeHeap", "_log2_segment_size", AT(heap_log2), BOTH},
    {"VirtualSpace", "_low_boundary", AT(space_low_boundary), BOTH},
    {"VirtualSpace", "_high_boundary", AT(space_high_boundary), BOTH},
    {"VirtualSpace", "_low", AT(space_low), BOTH},
    {"HeapBlock::Header", "_used", AT(block_used), BOTH},
    {"HeapBlock", NULL, AT(block_bytes), BOTH},
    {"CodeBlob", "_name", AT(blob_name), BOTH},
    {"CodeBlob", "_size", AT(blob_bytes), BOTH},
    {"CodeBlob", "_frame_complete_offset", AT(blob_complete), BOTH},
    {"CodeBlob", "_frame_size", AT(blob_frame_words), BOTH},
    {"CodeBlob", "_data_offset", AT(blob_data), BOTH},
    {"CodeBlob", "_code_begin", AT(blob_code), OLD},
    {"CodeBlob", "_code_end", AT(blob_code_limit), OLD},
    {"CodeBlob", "_code_offset", AT(blob_code_offset), NEW},
    {"CodeBlob", "_mutable_data", AT(blob_mutable), NEW},
    {"CodeBlob", "_relocation_size", AT(blob_relocation), NEW},
    {"CompiledMethod", "_method", AT(nmethod_method), OLD},
    {"nmethod", "_method", AT(nmethod_method), NEW},
    {"nmethod", "_compile_id", AT(nmethod_compile), BOTH},
    {"nmethod", "_orig_pc_offset", AT(nmethod_original_pc), BOTH},
    {"nmethod", "_scopes_pcs_offset", AT(nmethod_pcs), BOTH},
    {"nmethod", "_dependencies_offset", AT(nmethod_pcs_limit), OLD},
    {"CompiledMethod", "_scopes_data_begin", AT(nmethod_scopes), OLD},
    {"nmethod", "_scopes_data_offset", AT(nmethod_scopes), NEW},
    {"CompiledMethod", "_deopt_handler_begin", AT(nmethod_deopt), OLD},
    {"nmethod", "_deopt_handler_offset", AT(nmethod_deopt), NEW},
    {"CompiledMethod", "_deopt_mh_handler_begin", AT(nmethod_deopt_handle), OLD},
    {"nmethod", "_deopt_mh_handler_offset", AT(nmethod_deopt_handle), MAYBE},
    {"nmethod", "_metadata_offset", AT(nmethod_metadata), OLD},
    {"nmethod", "_immutable_data", AT(nmethod_immutable), NEW},
    {"Method", "_constMethod", AT(method_const), BOTH},
    {"ConstMethod", "_constants", AT(const_constants), BOTH},
    {"ConstMethod", "_flags", AT(const_flags), MAYBE},
    {"ConstMethod", "_flags._flags", AT(const_flags), MAYBE},
    {"ConstMethod", "_code_size", AT(const_code_bytes), BOTH},
    {"ConstMethod", "_name_index", AT(const_name), BOTH},
    {"ConstMethod", "_constMethod_size", AT(const_words), BOTH},
    {"ConstMethod", NULL, AT(const_bytes), BOTH},
    {"ConstantPool", "_pool_holder", AT(pool_holder), BOTH},
    {"ConstantPool", "_length", AT(pool_length), BOTH},
    {"ConstantPool", "_source_file_name_index", AT(pool_file), MAYBE},
    {"ConstantPool", NULL, AT(pool_bytes), BOTH},
    {"Klass", "_name", AT(class_name), BOTH},
    {"InstanceKlass", "_source_file_name_index", AT(class_file), MAYBE},
    {"Symbol", "_length", AT(symbol_length), BOTH},
    {"Symbol", "_body", AT(symbol_text), BOTH},
};

static const struct {
    const char *type, *field;
    size_t place;
} variables[] = {
    {"CodeCache", "_heaps", AT(heaps_at)},
    {"Abstract_VM_Version", "_vm_major_version", AT(major_at)},
};

enum {
    FIELDS = sizeof fields / sizeof fields[0],
    VARIABLES = sizeof variables / sizeof variables[0],
    TEXT_BYTES = 64,
};

/* The form of the rows in both tables. */
typedef struct {
    uint64_t fields, field_stride, type, name, offset, address;
    uint64_t types, type_stride, type_name, type_bytes;
} table_form;

typedef struct {
    pt_interp_read *read;
    void *arg;
    pt_java_layout *layout;
    bool has[FIELDS];
} layout_reading;

static bool read_text(const layout_reading *r, uint64_t addr, char to[TEXT_BYTES])
{
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        if (!r->read(r->arg, addr + i, to + i, 1)) return false;
        if (to[i] == '\0') return true;
    }
    to[TEXT_BYTES - 1] = '\0';
    return true;
}

static bool read_form(const uint64_t symbols[PT_JAVA_SYMBOLS], pt_interp_read *read, void *arg,
                      table_form *ret)
{
    enum { STRIDE_MAX = 256, STRIDE_MIN = 24 };
    uint64_t words[PT_JAVA_SYMBOLS];
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++) {
        const bool is_address = i == PT_JAVA_FIELDS || i == PT_JAVA_TYPES;
        if (symbols[i] == 0 || !read(arg, symbols[i], &words[i], sizeof words[i])) return false;
        if (!is_address && words[i] > STRIDE_MAX - sizeof(uint64_t)) return false;
    }
    *ret = (table_form){words[PT_JAVA_FIELDS],       words[PT_JAVA_FIELD_STRIDE],
                        words[PT_JAVA_FIELD_TYPE],   words[PT_JAVA_FIELD_NAME],
                        words[PT_JAVA_FIELD_OFFSET], words[PT_JAVA_FIELD_ADDRESS],
                        words[PT_JAVA_TYPES],        words[PT_JAVA_TYPE_STRIDE],
                        words[PT_JAVA_TYPE_NAME],    words[PT_JAVA_TYPE_SIZE]};
    return ret->field_stride >= STRIDE_MIN && ret->type_stride >= STRIDE_MIN;
}

/* Notes an offset or a size. */
static bool take_number(layout_reading *r, int row, uint64_t number)
{
    const uint16_t value = (uint16_t)number;
    if (number > UINT16_MAX) return false;
    memcpy((uint8_t *)r->layout + fields[row].place, &value, sizeof value);
    r->has[row] = true;
    return true;
}

static bool take_field(layout_reading *r, const table_form *form, uint64_t row, const char *type,
                       const char *name)
{
    uint64_t value;
    for (int i = 0; i < VARIABLES; i++) {
        if (strcmp(type, variables[i].type) != 0 || strcmp(name, variables[i].field) != 0) continue;
        if (!r->read(r->arg, row + form->address, &value, sizeof value)) return false;
        memcpy((uint8_t *)r->layout + variables[i].place, &value, sizeof value);
    }
    for (int i = 0; i < FIELDS; i++) {
        if (fields[i].field == NULL || strcmp(type, fields[i].type) != 0 ||
            strcmp(name, fields[i].field) != 0)
            continue;
        if (!r->read(r->arg, row + form->offset, &value, sizeof value) || !take_number(r, i, value))
            return false;
    }
    return true;
}

static bool read_fields(layout_reading *r, const table_form *form)
{
    enum { ROWS_MAX = 8192 };
    char type[TEXT_BYTES], name[TEXT_BYTES];
    uint64_t row = form->fields, text[2];
    for (int i = 0; i < ROWS_MAX; i++, row += form->field_stride) {
        if (!r->read(r->arg, row + form->type, &text[0], sizeof text[0]) ||
            !r->read(r->arg, row + form->name, &text[1], sizeof text[1]))
            return false;
        if (text[0] == 0) return true;
        if (!read_text(r, text[0], type) || !read_text(r, text[1], name) ||
            !take_field(r, form, row, type, name))
            return false;
    }
    return false;
}

static bool read_types(layout_reading *r, const table_form *form)
{
    enum { ROWS_MAX = 8192 };
    char type[TEXT_BYTES];
    uint64_t row = form->types, text, bytes;
    for (int i = 0; i < ROWS_MAX; i++, row += form->type_stride) {
        if (!r->read(r->arg, row + form->type_name, &text, sizeof text)) return false;
        if (text == 0) return true;
        if (!read_text(r, text, type)) return false;
        for (int f = 0; f < FIELDS; f++) {
            if (fields[f].field != NULL || strcmp(type, fields[f].type) != 0) continue;
            if (!r->read(r->arg, row + form->type_bytes, &bytes, sizeof bytes) ||
                !take_number(r, f, bytes))
                return false;
        }
    }
    return false;
}

static bool has_field(const layout_reading *r, size_t place)
{
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].place == place && r->has[i]) return true;
    return false;
}

/* Were all fields found that the versions `in` have? */
static bool has_all(const layout_reading *r, uint8_t in)
{
    for (int i = 0; i < FIELDS; i++)
        if ((fields[i].in & in) != 0 && !r->has[i]) return false;
    return r->layout->heaps_at != 0 && r->layout->const_flags != 0 &&
           (has_field(r, AT(pool_file)) || has_field(r, AT(class_file)));
}

/* Reads the places of the code cache's parts. Returns false if the virtual machine has not made its
 * code cache yet. */
static bool read_heaps(pt_java_vm *vm, pt_interp_read *read, void *arg)
{
    enum { SEGMENT_LOG2_MIN = 4, SEGMENT_LOG2_MAX = 16 };
    const pt_java_layout *const l = &vm->layout;
    uint64_t array, items, heap;
    uint32_t count;
    if (!read(arg, l->heaps_at, &array, sizeof array) || array == 0 ||
        !read(arg, array + l->array_count, &count, sizeof count) || count == 0 ||
        count > PT_JAVA_HEAPS_MAX || !read(arg, array + l->array_items, &items, sizeof items))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        pt_java_heap *const h = &vm->heap[i];
        if (!read(arg, items + i * sizeof heap, &heap, sizeof heap) || heap == 0 ||
            !read(arg, heap + l->heap_memory + l->space_low_boundary, &h->low, sizeof h->low) ||
            !read(arg, heap + l->heap_memory + l->space_high_boundary, &h->limit,
                  sizeof h->limit) ||
            !read(arg, heap + l->heap_segments + l->space_low, &h->segments, sizeof h->segments) ||
            !read(arg, heap + l->heap_log2, &h->log2_segment, sizeof h->log2_segment) ||
            h->low == 0 || h->limit <= h->low || h->segments == 0 ||
            h->log2_segment < SEGMENT_LOG2_MIN || h->log2_segment > SEGMENT_LOG2_MAX)
            return false;
    }
    vm->heap_count = count;
    return true;
}

pt_java_state pt_java_vm_read(const uint64_t symbols[PT_JAVA_SYMBOLS], pt_interp_read *read,
                              void *arg, pt_java_vm *ret_vm)
{
    enum { FIRST = 11, LAST_OLD = 22, FIRST_WITH_LEAST = 20, SPLIT = 25 };
    memset(ret_vm, 0, sizeof *ret_vm);
    layout_reading r = {.read = read, .arg = arg, .layout = &ret_vm->layout};
    table_form form;
    /* If a read fails, the loader has not set the addresses in the tables yet. */
    if (!read_form(symbols, read, arg, &form) || !read_fields(&r, &form) || !read_types(&r, &form))
        return PT_JAVA_NOT_YET;
    if (ret_vm->layout.major_at == 0) return PT_JAVA_PARTIAL;
    if (!read(arg, ret_vm->layout.major_at, &ret_vm->major, sizeof ret_vm->major))
        return PT_JAVA_NOT_YET;
    const uint32_t major = ret_vm->major;
    ret_vm->is_split = major >= SPLIT;
    ret_vm->least_byte = major >= FIRST_WITH_LEAST;
    ret_vm->layout.has_pool_file = has_field(&r, AT(pool_file));
    const bool is_known = (major >= FIRST && major <= LAST_OLD) || major == SPLIT;
    if (!is_known) return PT_JAVA_REFUSED;
    if (!has_all(&r, ret_vm->is_split ? NEW : OLD)) return PT_JAVA_PARTIAL;
    return read_heaps(ret_vm, read, arg) ? PT_JAVA_READY : PT_JAVA_NOT_YET;
}
