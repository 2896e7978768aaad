/* xml.h: text into XML. */
#ifndef PT_BASE_XML_H
#define PT_BASE_XML_H

#include "base/buf.h"

/* Puts text that may hold any bytes as the content of an element or a quoted attribute: markup is
 * escaped; what is no UTF-8, or no character of XML 1.0 (section 2.2), becomes U+FFFD. */
void pt_xml_text(pt_out *out, const char *text, size_t bytes);

#endif
