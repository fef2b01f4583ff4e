/** Certificates made at run time, for tests of TLS. */
export {
  TestAuthority,
  type CertificateRequest,
  type TestCertificate,
} from '../../libs/upstream/test/certificates';
