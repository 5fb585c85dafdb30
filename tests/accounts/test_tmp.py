def test_x(api, db):
    a = api.post("/api/v1/auth/token", b"[" * 100_000, content_type="application/json")
    assert a.status_code == 400
