/* no_tls.c: stands for GnuTLS in a static program. libmicrohttpd refers to GnuTLS, which serves
 * HTTPS; pitot serves plain HTTP. So only gnutls_global_init is called, before the first daemon
 * starts; the other functions are never called.
 */
int gnutls_global_init(void);
int gnutls_global_init(void)
{
    return 0;
}

enum { UNIMPLEMENTED = -1250 }; /* GNUTLS_E_UNIMPLEMENTED_FEATURE */

#define NOT_HERE(name)                                                                             \
    int gnutls_##name(void);                                                                       \
    int gnutls_##name(void)                                                                        \
    {                                                                                              \
        return UNIMPLEMENTED;                                                                      \
    }

NOT_HERE(alpn_set_protocols)
NOT_HERE(bye)
NOT_HERE(certificate_allocate_credentials)
NOT_HERE(certificate_free_credentials)
NOT_HERE(certificate_server_set_request)
NOT_HERE(certificate_set_dh_params)
NOT_HERE(certificate_set_retrieve_function2)
NOT_HERE(certificate_set_retrieve_function3)
NOT_HERE(certificate_set_x509_key_mem)
NOT_HERE(certificate_set_x509_key_mem2)
NOT_HERE(certificate_set_x509_trust_mem)
NOT_HERE(cipher_get)
NOT_HERE(credentials_set)
NOT_HERE(deinit)
NOT_HERE(dh_params_deinit)
NOT_HERE(dh_params_import_pkcs3)
NOT_HERE(dh_params_init)
NOT_HERE(global_deinit)
NOT_HERE(handshake)
NOT_HERE(init)
NOT_HERE(malloc)
NOT_HERE(priority_deinit)
NOT_HERE(priority_init)
NOT_HERE(priority_set)
NOT_HERE(protocol_get_version)
NOT_HERE(psk_allocate_server_credentials)
NOT_HERE(psk_free_server_credentials)
NOT_HERE(psk_set_server_credentials_function)
NOT_HERE(record_check_pending)
NOT_HERE(record_get_direction)
NOT_HERE(record_recv)
NOT_HERE(record_send)
NOT_HERE(session_get_ptr)
NOT_HERE(session_set_ptr)
NOT_HERE(strerror)
NOT_HERE(transport_set_int2)
