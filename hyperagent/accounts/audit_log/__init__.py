"""The faces of the audit log: a page of the admin, endpoints of the API, its stream. What the log is, and how it is
kept, is `hyperagent.audit`; who may read it is decided here."""
