"""Settings name what they change and travel as JSON."""

from quickfit.tuning.trials.settings import Setting


def test_what_is_not_changed_is_not_named():
    assert Setting().is_as_it_was
    assert Setting(jit=False, batch=64).changed() == {"jit": False, "batch": 64}


def test_two_settings_become_one():
    assert Setting(jit=True).with_all(Setting(batch=64)) == Setting(jit=True, batch=64)


def test_a_setting_comes_back_from_json():
    setting = Setting(policy="mixed_bfloat16", in_memory=True)
    assert Setting.from_json(setting.as_json()) == setting
