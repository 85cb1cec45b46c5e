"""The examples of special functions: what stands below "Examples" in their docstrings.

The first line, which imports arraytape, is added to each.  What examples print is written by
``python tools/name_examples.py --write src/arraytape/special/_examples.py``, and tested.
"""

EXAMPLES = {
    "agm": """\
>>> b = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.agm(2.0, b))
[1.45679103 2.         2.47468044]
>>> print(xp.grad(lambda b: xp.sum(xp.special.agm(2.0, b)))(b))
[0.60520924 0.5        0.45390187]
""",
    "airy": """\
>>> z = xp.asarray([-1.0, 0.0, 1.0])
>>> ai, aip, bi, bip = xp.special.airy(z)
>>> print(ai)
[0.53556088 0.35502805 0.13529242]
>>> print(bi)
[0.10399739 0.61492663 1.20742359]

The slope of Ai is its own second result:

>>> print(aip)
[-0.01016057 -0.2588194  -0.15914744]
>>> print(xp.grad(lambda z: xp.sum(xp.special.airy(z)[0]))(z))
[-0.01016057 -0.2588194  -0.15914744]
""",
    "airye": """\
>>> z = xp.asarray([1.0, 2.0, 3.0])
>>> ai, aip, bi, bip = xp.special.airye(z)
>>> print(ai)
[0.26351364 0.23016492 0.21057204]
>>> print(xp.special.airy(z)[0] * xp.exp(2 / 3 * z**1.5))
[0.26351364 0.23016492 0.21057204]
>>> print(xp.grad(lambda z: xp.sum(xp.special.airye(z)[0]))(z))
[-0.04646324 -0.02438593 -0.01587127]
""",
    "bdtr": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.bdtr(2, 8, p))
[0.67854309 0.14453125 0.00422668]
>>> print(xp.grad(lambda p: xp.sum(xp.special.bdtr(2, 8, p)))(p))
[-2.49169922 -1.3125     -0.09228516]
""",
    "bdtrc": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.bdtrc(2, 8, p))
[0.32145691 0.85546875 0.99577332]
>>> print(xp.grad(lambda p: xp.sum(xp.special.bdtrc(2, 8, p)))(p))
[2.49169922 1.3125     0.09228516]
""",
    "bdtri": """\
>>> q = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.bdtri(2, 8, q))
[0.43320517 0.32051897 0.22057714]
>>> print(xp.grad(lambda q: xp.sum(xp.special.bdtri(2, 8, q)))(q))
[-0.54221815 -0.40003368 -0.42530846]
""",
    "bdtrik": """\
>>> p = xp.asarray([0.4, 0.5, 0.6])
>>> print(xp.special.bdtrik(0.6, 8.0, p))
[3.02163597 3.8624495  4.6883822 ]
>>> print(xp.grad(lambda p: xp.sum(xp.special.bdtrik(0.6, 8.0, p)))(p))
[8.48568072 8.33294727 8.1850459 ]
""",
    "bdtrin": """\
>>> p = xp.asarray([0.4, 0.5, 0.6])
>>> print(xp.special.bdtrin(2.0, 0.5, p))
[6.34021357 5.         4.10431109]
>>> print(xp.grad(lambda p: xp.sum(xp.special.bdtrin(2.0, 0.5, p)))(p))
[-16.74075486 -10.73277121  -7.47965294]
""",
    "bei": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.bei(x))
[ 0.97229163  2.29269032 -7.33474654]
>>> print(xp.grad(lambda x: xp.sum(xp.special.bei(x)))(x))
[  0.91701361  -0.49113744 -10.84622333]
""",
    "beip": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.beip(x))
[  0.91701361  -0.49113744 -10.84622333]
>>> print(xp.grad(lambda x: xp.sum(xp.special.beip(x)))(x))
[ 0.29322738 -2.4406322  -7.05061208]
""",
    "ber": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.ber(x))
[ 0.75173418 -2.56341656 -8.85831597]
>>> print(xp.grad(lambda x: xp.sum(xp.special.ber(x)))(x))
[-0.49306712 -3.13465396 -0.29307997]
""",
    "berp": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.berp(x))
[-0.49306712 -3.13465396 -0.29307997]
>>> print(xp.grad(lambda x: xp.sum(xp.special.berp(x)))(x))
[-0.72575806 -1.50902683  7.3835932 ]
""",
    "besselpoly": """\
>>> a = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.besselpoly(a, 1.0, 1.0))
[0.24449718 0.24085812 0.16333334]
>>> print(xp.grad(lambda a: xp.sum(xp.special.besselpoly(a, 1.0, 1.0)))(a))
[ 0.08773044 -0.09510486 -0.196355  ]
""",
    "beta": """\
>>> b = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.beta(2.0, b))
[0.5        0.16666667 0.08333333]
>>> print(xp.grad(lambda b: xp.sum(xp.special.beta(2.0, b)))(b))
[-0.75       -0.13888889 -0.04861111]
""",
    "betainc": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.betainc(3.0, 3.0, x))
[0.10351562 0.5        0.89648438]
>>> print(xp.grad(lambda x: xp.sum(xp.special.betainc(3.0, 3.0, x)))(x))
[1.0546875 1.875     1.0546875]
""",
    "betaincc": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.betaincc(3.0, 3.0, x))
[0.89648438 0.5        0.10351562]
>>> print(xp.grad(lambda x: xp.sum(xp.special.betaincc(3.0, 3.0, x)))(x))
[-1.0546875 -1.875     -1.0546875]
""",
    "betainccinv": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.betainccinv(3.0, 3.0, p))
[0.64056384 0.5        0.35943616]
>>> print(xp.grad(lambda p: xp.sum(xp.special.betainccinv(3.0, 3.0, p)))(p))
[-0.62879687 -0.53333333 -0.62879687]
""",
    "betaincinv": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.betaincinv(3.0, 3.0, p))
[0.35943616 0.5        0.64056384]
>>> print(xp.grad(lambda p: xp.sum(xp.special.betaincinv(3.0, 3.0, p)))(p))
[0.62879687 0.53333333 0.62879687]
""",
    "betaln": """\
>>> b = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.betaln(2.0, b))
[-0.69314718 -1.79175947 -2.48490665]
>>> print(xp.grad(lambda b: xp.sum(xp.special.betaln(2.0, b)))(b))
[-1.5        -0.83333333 -0.58333333]
""",
    "binom": """\
>>> k = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.binom(4.0, k))
[4.         5.43248872 6.        ]
>>> print(xp.grad(lambda k: xp.sum(xp.special.binom(4.0, k)))(k))
[3.33333333 2.17299549 0.        ]
""",
    "boxcox": """\
>>> lmbda = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.boxcox(2.0, lmbda))
[0.5        0.69314718 1.        ]
>>> print(xp.grad(lambda lmbda: xp.sum(xp.special.boxcox(2.0, lmbda)))(lmbda))
[0.15342641 0.24022651 0.38629436]
""",
    "boxcox1p": """\
>>> lmbda = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.boxcox1p(1.0, lmbda))
[0.5        0.69314718 1.        ]
>>> print(xp.grad(lambda lmbda: xp.sum(xp.special.boxcox1p(1.0, lmbda)))(lmbda))
[0.15342641 0.24022651 0.38629436]
""",
    "btdtria": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.btdtria(0.5, 3.0, x))
[1.20178108 3.         8.35488124]
>>> print(xp.grad(lambda x: xp.sum(xp.special.btdtria(0.5, 3.0, x)))(x))
[ 4.86220504 10.73277121 42.80556557]
""",
    "btdtrib": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.btdtrib(3.0, 0.5, x))
[8.35488124 3.         1.20178108]
>>> print(xp.grad(lambda x: xp.sum(xp.special.btdtrib(3.0, 0.5, x)))(x))
[-42.80556557 -10.73277121  -4.86220504]
""",
    "cbrt": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.cbrt(x))
[1.         1.25992105 1.44224957]
>>> print(xp.grad(lambda x: xp.sum(xp.special.cbrt(x)))(x))
[0.33333333 0.20998684 0.16024995]
""",
    "chdtr": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.chdtr(3.0, x))
[0.19874804 0.4275933  0.60837482]
>>> print(xp.grad(lambda x: xp.sum(xp.special.chdtr(3.0, x)))(x))
[0.24197072 0.20755375 0.15418033]
""",
    "chdtrc": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.chdtrc(3.0, x))
[0.80125196 0.5724067  0.39162518]
>>> print(xp.grad(lambda x: xp.sum(xp.special.chdtrc(3.0, x)))(x))
[-0.24197072 -0.20755375 -0.15418033]
""",
    "chdtri": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.chdtri(3.0, p))
[4.10834494 2.36597388 1.2125329 ]
>>> print(xp.grad(lambda p: xp.sum(xp.special.chdtri(3.0, p)))(p))
[-9.64655516 -5.31924093 -4.1738933 ]
""",
    "chdtriv": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.chdtriv(0.5, x))
[1.5971476  2.62850002 3.64062784]
>>> print(xp.grad(lambda x: xp.sum(xp.special.chdtriv(0.5, x)))(x))
[1.05559973 1.01756714 1.00834987]
""",
    "chndtr": """\
>>> nc = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.chndtr(2.0, 3.0, nc))
[0.30825251 0.2610532  0.22073309]
>>> print(xp.grad(lambda nc: xp.sum(xp.special.chndtr(2.0, 3.0, nc)))(nc))
[-0.10195453 -0.08719093 -0.07439876]
""",
    "chndtridf": """\
>>> nc = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.chndtridf(4.0, 0.4, nc))
[4.55359254 4.13386564 3.7092291 ]
>>> print(xp.grad(lambda nc: xp.sum(xp.special.chndtridf(4.0, 0.4, nc)))(nc))
[-0.83446454 -0.84440703 -0.85408794]
""",
    "chndtrinc": """\
>>> p = xp.asarray([0.3, 0.4, 0.5])
>>> print(xp.special.chndtrinc(4.0, 1.5, p))
[5.78857084 4.52155518 3.47175967]
>>> print(xp.grad(lambda p: xp.sum(xp.special.chndtrinc(4.0, 1.5, p)))(p))
[-14.23288782 -11.3891262   -9.74417367]
""",
    "chndtrix": """\
>>> nc = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.chndtrix(0.5, 3.0, nc))
[3.21300856 3.66874485 4.13751512]
>>> print(xp.grad(lambda nc: xp.sum(xp.special.chndtrix(0.5, 3.0, nc)))(nc))
[0.89476139 0.92619805 0.94747246]
""",
    "comb": """\
>>> print(xp.special.comb(5, xp.asarray([0, 1, 2])))
[ 1.  5. 10.]

As a function of real numbers it is differentiable:

>>> n = xp.asarray([5.0, 6.5])
>>> print(xp.grad(lambda n: xp.sum(xp.special.comb(n, 2.0)))(n))
[4.5 6. ]
""",
    "cosdg": """\
>>> x = xp.asarray([-10.0, 0.0, 10.0])
>>> print(xp.special.cosdg(x))
[0.98480775 1.         0.98480775]
>>> print(xp.grad(lambda x: xp.sum(xp.special.cosdg(x)))(x))
[ 0.00303073 -0.         -0.00303073]
""",
    "cosm1": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.cosm1(x))
[-0.45969769  0.         -0.45969769]
>>> print(xp.grad(lambda x: xp.sum(xp.special.cosm1(x)))(x))
[ 0.84147098 -0.         -0.84147098]
""",
    "cotdg": """\
>>> x = xp.asarray([80.0, 90.0, 100.0])
>>> print(xp.special.cotdg(x))
[ 0.17632698  0.         -0.17632698]
>>> print(xp.grad(lambda x: xp.sum(xp.special.cotdg(x)))(x))
[-0.01799594 -0.01745329 -0.01799594]
""",
    "dawsn": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.dawsn(x))
[-0.53807951  0.          0.53807951]
>>> print(xp.grad(lambda x: xp.sum(xp.special.dawsn(x)))(x))
[-0.07615901  1.         -0.07615901]
""",
    "digamma": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.digamma(x))
[-0.57721566  0.42278434  0.92278434]
>>> print(xp.grad(lambda x: xp.sum(xp.special.digamma(x)))(x))
[1.64493407 0.64493407 0.39493407]
""",
    "diric": """\
>>> x = xp.asarray([-5.0, 0.0, 5.0])
>>> print(xp.special.diric(x, 4))
[-0.22725415  1.         -0.22725415]
>>> print(xp.grad(lambda x: xp.sum(xp.special.diric(x, 4)))(x))
[ 0.85311802 -0.         -0.85311802]
""",
    "ellipe": """\
>>> m = xp.asarray([-1.0, -0.5, 0.0])
>>> print(xp.special.ellipe(m))
[1.91009889 1.75177128 1.57079633]
>>> print(xp.grad(lambda m: xp.sum(xp.special.ellipe(m)))(m))
[-0.29953506 -0.33603407 -0.39269908]
""",
    "ellipeinc": """\
>>> m = xp.asarray([-1.0, -0.5, 0.0])
>>> print(xp.special.ellipeinc(-1.0, m))
[-1.12388772 -1.06472865 -1.        ]
>>> print(xp.grad(lambda m: xp.sum(xp.special.ellipeinc(-1.0, m)))(m))
[0.11374697 0.12332264 0.13633782]
""",
    "ellipj": """\
>>> u = xp.asarray([0.0, 0.5, 1.0])
>>> sn, cn, dn, ph = xp.special.ellipj(u, 0.5)
>>> print(sn)
[0.         0.47075047 0.80300182]

The slope of sn by u is cn * dn:

>>> print(cn * dn)
[1.         0.83195288 0.49058467]
>>> print(xp.grad(lambda u: xp.sum(xp.special.ellipj(u, 0.5)[0]))(u))
[1.         0.83195288 0.49058467]
""",
    "ellipk": """\
>>> m = xp.asarray([-1.0, -0.5, 0.0])
>>> print(xp.special.ellipk(m))
[1.31102878 1.41573721 1.57079633]
>>> print(xp.grad(lambda m: xp.sum(xp.special.ellipk(m)))(m))
[0.17798966 0.24788969 0.39269908]
""",
    "ellipkinc": """\
>>> m = xp.asarray([-1.0, -0.5, 0.0])
>>> print(xp.special.ellipkinc(-1.0, m))
[-0.89639379 -0.94140601 -1.        ]
>>> print(xp.grad(lambda m: xp.sum(xp.special.ellipkinc(-1.0, m)))(m))
[-0.08025632 -0.10134838 -0.13633782]
""",
    "ellipkm1": """\
>>> p = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.ellipkm1(p))
[1.85407468 1.57079633 1.41573721]
>>> print(xp.grad(lambda p: xp.sum(xp.special.ellipkm1(p)))(p))
[-0.84721308 -0.39269908 -0.24788969]
""",
    "elliprc": """\
>>> v = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.elliprc(1.0, v))
[1.         0.87041975 0.78539816]
>>> print(xp.grad(lambda v: xp.sum(xp.special.elliprc(1.0, v)))(v))
[-0.33333333 -0.20375308 -0.14269908]
""",
    "elliprd": """\
>>> w = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.elliprd(1.0, 1.0, w))
[1.         0.68839967 0.52280042]
>>> print(xp.grad(lambda w: xp.sum(xp.special.elliprd(1.0, 1.0, w)))(w))
[-0.9        -0.43220585 -0.25387054]
""",
    "elliprf": """\
>>> w = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.elliprf(1.0, 1.0, w))
[1.         0.93122986 0.88137359]
>>> print(xp.grad(lambda w: xp.sum(xp.special.elliprf(1.0, 1.0, w)))(w))
[-0.16666667 -0.11473328 -0.0871334 ]
""",
    "elliprg": """\
>>> w = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.elliprg(1.0, 1.0, w))
[1.         1.07798737 1.14779357]
>>> print(xp.grad(lambda w: xp.sum(xp.special.elliprg(1.0, 1.0, w)))(w))
[0.16666667 0.14675751 0.13320999]
""",
    "elliprj": """\
>>> p = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.elliprj(1.0, 1.0, 1.0, p))
[1.         0.77748149 0.64380551]
>>> print(xp.grad(lambda p: xp.sum(xp.special.elliprj(1.0, 1.0, 1.0, p)))(p))
[-0.6        -0.33244448 -0.21570826]
""",
    "entr": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.entr(x))
[-0.         -1.38629436 -3.29583687]
>>> print(xp.grad(lambda x: xp.sum(xp.special.entr(x)))(x))
[-1.         -1.69314718 -2.09861229]
""",
    "erf": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.erf(x))
[-0.84270079  0.          0.84270079]

The slope is 2 / sqrt(pi) * exp(-x**2), and SciPy's own function gives it, too:

>>> print(xp.grad(lambda x: xp.sum(xp.special.erf(x)))(x))
[0.4151075  1.12837917 0.4151075 ]
>>> import scipy.special
>>> print(xp.grad(lambda x: xp.sum(scipy.special.erf(x)))(x))
[0.4151075  1.12837917 0.4151075 ]
""",
    "erfc": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.erfc(x))
[1.84270079 1.         0.15729921]
>>> print(xp.grad(lambda x: xp.sum(xp.special.erfc(x)))(x))
[-0.4151075  -1.12837917 -0.4151075 ]
""",
    "erfcinv": """\
>>> x = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.erfcinv(x))
[ 0.47693628 -0.         -0.47693628]
>>> print(xp.grad(lambda x: xp.sum(xp.special.erfcinv(x)))(x))
[-1.11258482 -0.88622693 -1.11258482]
""",
    "erfcx": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.erfcx(x))
[5.00898008 1.         0.42758358]
>>> print(xp.grad(lambda x: xp.sum(xp.special.erfcx(x)))(x))
[-11.14633933  -1.12837917  -0.27321201]
""",
    "erfi": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.erfi(x))
[-1.65042576  0.          1.65042576]
>>> print(xp.grad(lambda x: xp.sum(xp.special.erfi(x)))(x))
[3.06725259 1.12837917 3.06725259]
""",
    "erfinv": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.erfinv(x))
[-0.47693628  0.          0.47693628]
>>> print(xp.grad(lambda x: xp.sum(xp.special.erfinv(x)))(x))
[1.11258482 0.88622693 1.11258482]
""",
    "eval_chebyc": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.eval_chebyc(3, x))
[ 2. -0. -2.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_chebyc(3, x)))(x))
[ 0. -3.  0.]
""",
    "eval_chebys": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.eval_chebys(3, x))
[ 1. -0. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_chebys(3, x)))(x))
[ 1. -2.  1.]
""",
    "eval_chebyt": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.eval_chebyt(3, x))
[ 1. -0. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_chebyt(3, x)))(x))
[ 0. -3.  0.]
""",
    "eval_chebyu": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.eval_chebyu(3, x))
[ 1. -0. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_chebyu(3, x)))(x))
[ 2. -4.  2.]
""",
    "eval_gegenbauer": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.eval_gegenbauer(4, 1.0, x))
[-1.  1. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_gegenbauer(4, 1.0, x)))(x))
[ 4.  0. -4.]
""",
    "eval_genlaguerre": """\
>>> x = xp.asarray([2.0, 3.0, 4.0])
>>> print(xp.special.eval_genlaguerre(4, 1.0, x))
[-1.          0.875       2.33333333]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_genlaguerre(4, 1.0, x)))(x))
[1.33333333 2.         0.66666667]
""",
    "eval_hermite": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.eval_hermite(3, x))
[ 4. -0. -4.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_hermite(3, x)))(x))
[ 12. -12.  12.]
""",
    "eval_hermitenorm": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.eval_hermitenorm(3, x))
[ 2. -0. -2.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_hermitenorm(3, x)))(x))
[ 0. -3.  0.]
""",
    "eval_jacobi": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.eval_jacobi(4, 1.0, 1.0, x))
[ 0.12939453 -0.7421875  -0.14404297]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_jacobi(4, 1.0, 1.0, x)))(x))
[-3.5546875 -2.1875     9.0234375]
""",
    "eval_laguerre": """\
>>> x = xp.asarray([2.0, 3.0, 4.0])
>>> print(xp.special.eval_laguerre(3, x))
[-0.33333333  1.          2.33333333]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_laguerre(3, x)))(x))
[1.  1.5 1. ]
""",
    "eval_legendre": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.eval_legendre(3, x))
[ 0.4375  0.     -0.4375]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_legendre(3, x)))(x))
[ 0.375 -1.5    0.375]
""",
    "eval_sh_chebyt": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.eval_sh_chebyt(3, x))
[ 1. -0. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_sh_chebyt(3, x)))(x))
[ 0. -6.  0.]
""",
    "eval_sh_chebyu": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.eval_sh_chebyu(3, x))
[ 1. -0. -1.]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_sh_chebyu(3, x)))(x))
[ 4. -8.  4.]
""",
    "eval_sh_jacobi": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.eval_sh_jacobi(4, 3.0, 1.0, x))
[ 0.00033482  0.00059524 -0.00383185]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_sh_jacobi(4, 3.0, 1.0, x)))(x))
[ 0.02916667 -0.03333333  0.05416667]
""",
    "eval_sh_legendre": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.eval_sh_legendre(3, x))
[ 0.4375  0.     -0.4375]
>>> print(xp.grad(lambda x: xp.sum(xp.special.eval_sh_legendre(3, x)))(x))
[ 0.75 -3.    0.75]
""",
    "exp1": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.exp1(x))
[0.21938393 0.04890051 0.01304838]
>>> print(xp.grad(lambda x: xp.sum(xp.special.exp1(x)))(x))
[-0.36787944 -0.06766764 -0.01659569]
""",
    "exp10": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.exp10(x))
[ 0.1  1.  10. ]
>>> print(xp.grad(lambda x: xp.sum(xp.special.exp10(x)))(x))
[ 0.23025851  2.30258509 23.02585093]
""",
    "exp2": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.exp2(x))
[0.5 1.  2. ]
>>> print(xp.grad(lambda x: xp.sum(xp.special.exp2(x)))(x))
[0.34657359 0.69314718 1.38629436]
""",
    "expi": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.expi(x))
[1.89511782 4.95423436 9.93383257]
>>> print(xp.grad(lambda x: xp.sum(xp.special.expi(x)))(x))
[2.71828183 3.69452805 6.69517897]
""",
    "expit": """\
>>> x = xp.asarray([-2.0, 0.0, 2.0])
>>> print(xp.special.expit(x))
[0.11920292 0.5        0.88079708]

The slope is y * (1 - y), which no large x makes NaN:

>>> print(xp.grad(lambda x: xp.sum(xp.special.expit(x)))(x))
[0.10499359 0.25       0.10499359]
>>> print(xp.grad(xp.special.expit)(xp.asarray(-1000.0)))
0.0
""",
    "expm1": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.expm1(x))
[-0.63212056  0.          1.71828183]
>>> print(xp.grad(lambda x: xp.sum(xp.special.expm1(x)))(x))
[0.36787944 1.         2.71828183]
""",
    "expn": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.expn(2, x))
[0.14849551 0.03753426 0.01064193]
>>> print(xp.grad(lambda x: xp.sum(xp.special.expn(2, x)))(x))
[-0.21938393 -0.04890051 -0.01304838]
""",
    "exprel": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.exprel(x))
[0.63212056 1.         1.71828183]
>>> print(xp.grad(lambda x: xp.sum(xp.special.exprel(x)))(x))
[0.26424112 0.5        1.        ]
""",
    "factorial": """\
>>> print(xp.special.factorial(xp.asarray([0, 3, 5])))
[  1.   6. 120.]

Of real numbers it is gamma(n + 1), and differentiable:

>>> n = xp.asarray([1.0, 2.5])
>>> print(xp.special.factorial(n))
[1.         3.32335097]
>>> print(xp.grad(lambda n: xp.sum(xp.special.factorial(n)))(n))
[0.42278434 3.66617669]
""",
    "factorial2": """\
>>> print(xp.special.factorial2(xp.asarray([4, 5, 6])))
[ 8. 15. 48.]
""",
    "factorialk": """\
>>> print(xp.special.factorialk(xp.asarray([5, 6, 7]), 3))
[10. 18. 28.]
""",
    "fdtr": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.fdtr(3.0, 3.0, x))
[0.5        0.70820859 0.80449889]
>>> print(xp.grad(lambda x: xp.sum(xp.special.fdtr(3.0, 3.0, x)))(x))
[0.31830989 0.13338019 0.06891611]
""",
    "fdtrc": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.fdtrc(3.0, 3.0, x))
[0.5        0.29179141 0.19550111]
>>> print(xp.grad(lambda x: xp.sum(xp.special.fdtrc(3.0, 3.0, x)))(x))
[-0.31830989 -0.13338019 -0.06891611]
""",
    "fdtri": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.fdtri(3.0, 3.0, p))
[0.42452907 1.         2.3555513 ]
>>> print(xp.grad(lambda p: xp.sum(xp.special.fdtri(3.0, 3.0, p)))(p))
[1.74228869 3.14159265 9.66730118]
""",
    "fdtridfd": """\
>>> x = xp.asarray([2.5, 3.0, 3.5])
>>> print(xp.special.fdtridfd(3.0, 0.65, x))
[1.49615752 1.24624598 1.09555814]
>>> print(xp.grad(lambda x: xp.sum(xp.special.fdtridfd(3.0, 0.65, x)))(x))
[-0.66828829 -0.37501683 -0.24274306]
""",
    "fresnel": """\
>>> x = xp.asarray([0.5, 1.0, 1.5])
>>> sine, cosine = xp.special.fresnel(x)
>>> print(sine)
[0.06473243 0.43825915 0.69750496]

The slope of the first is sin(pi x**2 / 2):

>>> print(xp.grad(lambda x: xp.sum(xp.special.fresnel(x)[0]))(x))
[ 0.38268343  1.         -0.38268343]
""",
    "gamma": """\
>>> x = xp.asarray([0.5, 1.0, 4.0])
>>> print(xp.special.gamma(x))
[1.77245385 1.         6.        ]

The slope is gamma(x) * digamma(x); at 1 it is minus Euler's constant:

>>> print(xp.grad(lambda x: xp.sum(xp.special.gamma(x)))(x))
[-3.48023091 -0.57721566  7.53670601]
""",
    "gammainc": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gammainc(3.0, x))
[0.0803014  0.32332358 0.57680992]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gammainc(3.0, x)))(x))
[0.18393972 0.27067057 0.22404181]
""",
    "gammaincc": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gammaincc(3.0, x))
[0.9196986  0.67667642 0.42319008]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gammaincc(3.0, x)))(x))
[-0.18393972 -0.27067057 -0.22404181]
""",
    "gammainccinv": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.gammainccinv(3.0, p))
[3.92040206 2.67406031 1.72729942]
>>> print(xp.grad(lambda p: xp.sum(xp.special.gammainccinv(3.0, p)))(p))
[-6.56111666 -4.0552463  -3.77095498]
""",
    "gammaincinv": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.gammaincinv(3.0, p))
[1.72729942 2.67406031 3.92040206]
>>> print(xp.grad(lambda p: xp.sum(xp.special.gammaincinv(3.0, p)))(p))
[3.77095498 4.0552463  6.56111666]
""",
    "gammaln": """\
>>> x = xp.asarray([0.5, 1.0, 100.0])
>>> print(xp.special.gammaln(x))
[  0.57236494   0.         359.13420537]

The slope is digamma(x):

>>> print(xp.grad(lambda x: xp.sum(xp.special.gammaln(x)))(x))
[-1.96351003 -0.57721566  4.60016185]
""",
    "gammasgn": """\
>>> print(xp.special.gammasgn(xp.asarray([-2.5, -1.5, 2.0])))
[-1.  1.  1.]
""",
    "gdtr": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gdtr(2.0, 3.0, x))
[0.32332358 0.76189669 0.9380312 ]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gdtr(2.0, 3.0, x)))(x))
[0.54134113 0.29305022 0.08923508]
""",
    "gdtrc": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gdtrc(2.0, 3.0, x))
[0.67667642 0.23810331 0.0619688 ]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gdtrc(2.0, 3.0, x)))(x))
[-0.54134113 -0.29305022 -0.08923508]
""",
    "gdtria": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gdtria(0.5, 3.0, x))
[2.67406031 1.33703016 0.89135344]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gdtria(0.5, 3.0, x)))(x))
[-2.67406031 -0.66851508 -0.29711781]
""",
    "gdtrib": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.gdtrib(2.0, 0.5, x))
[2.32348868 4.32838046 6.33003106]
>>> print(xp.grad(lambda x: xp.sum(xp.special.gdtrib(2.0, 0.5, x)))(x))
[2.009646   2.00247172 2.0011017 ]
""",
    "gdtrix": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.gdtrix(2.0, 3.0, p))
[0.86364971 1.33703016 1.96020103]
>>> print(xp.grad(lambda p: xp.sum(xp.special.gdtrix(2.0, 3.0, p)))(p))
[1.88547749 2.02762315 3.28055833]
""",
    "hankel1": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.hankel1(2.0, z))
[0.11490348-1.65068261j 0.35283403-0.6174081j ]
>>> print(xp.grad(lambda z: xp.sum(xp.abs(xp.special.hankel1(2.0, z))))(z))
[-2.49946912 -0.33203318]
""",
    "hankel1e": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.hankel1e(2.0, z))
[-1.3269189 -0.98855557j -0.70823837-0.06389864j]
>>> print(xp.grad(lambda z: xp.sum(xp.abs(xp.special.hankel1e(2.0, z))))(z))
[-2.49946912 -0.33203318]
""",
    "hankel2": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.hankel2(2.0, z))
[0.11490348+1.65068261j 0.35283403+0.6174081j ]
>>> print(xp.grad(lambda z: xp.sum(xp.abs(xp.special.hankel2(2.0, z))))(z))
[-2.49946912 -0.33203318]
""",
    "hankel2e": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.hankel2e(2.0, z))
[-1.3269189 +0.98855557j -0.70823837+0.06389864j]
>>> print(xp.grad(lambda z: xp.sum(xp.abs(xp.special.hankel2e(2.0, z))))(z))
[-2.49946912 -0.33203318]
""",
    "huber": """\
>>> r = xp.asarray([-3.0, -0.5, 0.0, 2.0])
>>> print(xp.special.huber(1.0, r))
[2.5   0.125 0.    1.5  ]

Beyond delta the slope is limited, so outliers pull no harder:

>>> print(xp.grad(lambda r: xp.sum(xp.special.huber(1.0, r)))(r))
[-1.  -0.5  0.   1. ]
""",
    "hyp0f1": """\
>>> z = xp.asarray([-2.0, 0.0, 2.0])
>>> print(xp.special.hyp0f1(1.5, z))
[0.10891981 1.         2.9804061 ]
>>> print(xp.grad(lambda z: xp.sum(xp.special.hyp0f1(1.5, z)))(z))
[0.26507073 0.66666667 1.37714028]
""",
    "hyp1f1": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.hyp1f1(0.5, 1.5, x))
[0.74682413 1.         1.46265175]

The slope is a / b times the function of a + 1 and b + 1:

>>> print(xp.grad(lambda x: xp.sum(xp.special.hyp1f1(0.5, 1.5, x)))(x))
[0.18947235 0.33333333 0.62781504]
>>> print(0.5 / 1.5 * xp.special.hyp1f1(1.5, 2.5, x))
[0.18947235 0.33333333 0.62781504]
""",
    "hyp2f1": """\
>>> z = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.hyp2f1(1.0, 1.0, 2.0, z))  # -log(1 - z) / z
[0.81093022 1.         1.38629436]
>>> print(xp.grad(lambda z: xp.sum(xp.special.hyp2f1(1.0, 1.0, 2.0, z)))(z))
[0.2885271  0.5        1.22741128]
""",
    "hyperu": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.hyperu(1.5, 1.5, x))
[0.48425569 0.2224014  0.13610233]
>>> print(xp.grad(lambda x: xp.sum(xp.special.hyperu(1.5, 1.5, x)))(x))
[-0.51574431 -0.13115199 -0.05634776]
""",
    "i0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.i0(x))
[ 2.2795853  11.30192195 67.23440698]
>>> print(xp.grad(lambda x: xp.sum(xp.special.i0(x)))(x))
[ 1.59063685  9.75946515 61.34193678]
""",
    "i0e": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.i0e(x))
[0.30850832 0.20700192 0.16665743]
>>> print(xp.grad(lambda x: xp.sum(xp.special.i0e(x)))(x))
[-0.09323903 -0.02825108 -0.01460597]
""",
    "i1": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.i1(x))
[ 1.59063685  9.75946515 61.34193678]
>>> print(xp.grad(lambda x: xp.sum(xp.special.i1(x)))(x))
[ 1.48426688  8.86205566 57.01075085]
""",
    "i1e": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.i1e(x))
[0.21526929 0.17875084 0.15205146]
>>> print(xp.grad(lambda x: xp.sum(xp.special.i1e(x)))(x))
[-0.01439561 -0.01643663 -0.01073594]
""",
    "inv_boxcox": """\
>>> lmbda = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.inv_boxcox(1.0, lmbda))
[2.25       2.         1.84201575]
>>> print(xp.grad(lambda lmbda: xp.sum(xp.special.inv_boxcox(1.0, lmbda)))(lmbda))
[-0.64918597 -0.38629436 -0.25893889]
""",
    "inv_boxcox1p": """\
>>> lmbda = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.inv_boxcox1p(1.0, lmbda))
[1.25       1.         0.84201575]
>>> print(xp.grad(lambda lmbda: xp.sum(xp.special.inv_boxcox1p(1.0, lmbda)))(lmbda))
[-0.64918597 -0.38629436 -0.25893889]
""",
    "it2i0k0": """\
>>> x = xp.asarray([0.5, 1.0])
>>> of_i0, of_k0 = xp.special.it2i0k0(x)
>>> print(of_i0)
[0.03149527 0.12897944]

The slope of the first is (i0(x) - 1) / x:

>>> print(xp.grad(lambda x: xp.sum(xp.special.it2i0k0(x)[0]))(x))
[0.12696674 0.26606588]
""",
    "it2j0y0": """\
>>> x = xp.asarray([0.5, 1.0])
>>> of_j0, of_y0 = xp.special.it2j0y0(x)
>>> print(of_j0)
[0.03100699 0.12116525]

The slope of the first is (1 - j0(x)) / x:

>>> print(xp.grad(lambda x: xp.sum(xp.special.it2j0y0(x)[0]))(x))
[0.12306039 0.23480231]
""",
    "it2struve0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.it2struve0(x))
[0.46909296 0.07034164 0.11833664]
>>> print(xp.grad(lambda x: xp.sum(xp.special.it2struve0(x)))(x))
[-0.39542942 -0.03375364  0.03075922]
""",
    "itairy": """\
>>> x = xp.asarray([0.5, 1.0])
>>> of_ai, of_bi, of_ai_left, of_bi_left = xp.special.itairy(x)
>>> print(of_ai)
[0.14595331 0.23631733]

The slope of an integral is what is integrated, Ai(x):

>>> print(xp.grad(lambda x: xp.sum(xp.special.itairy(x)[0]))(x))
[0.23169361 0.13529242]
>>> print(xp.special.airy(x)[0])
[0.23169361 0.13529242]
""",
    "iti0k0": """\
>>> x = xp.asarray([0.5, 1.0])
>>> of_i0, of_k0 = xp.special.iti0k0(x)
>>> print(of_i0)
[0.51051481 1.0865211 ]

The slope of an integral is what is integrated, i0(x):

>>> print(xp.grad(lambda x: xp.sum(xp.special.iti0k0(x)[0]))(x))
[1.06348337 1.26606588]
>>> print(xp.special.i0(x))
[1.06348337 1.26606588]
""",
    "itj0y0": """\
>>> x = xp.asarray([0.5, 1.0])
>>> of_j0, of_y0 = xp.special.itj0y0(x)
>>> print(of_j0)
[0.48968051 0.91973041]

The slope of an integral is what is integrated, j0(x):

>>> print(xp.grad(lambda x: xp.sum(xp.special.itj0y0(x)[0]))(x))
[0.93846981 0.76519769]
>>> print(xp.special.j0(x))
[0.93846981 0.76519769]
""",
    "itmodstruve0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.itmodstruve0(x))
[ 1.588285   12.10831676 74.10737326]
>>> print(xp.grad(lambda x: xp.sum(xp.special.itmodstruve0(x)))(x))
[ 1.93743376 11.1310502  67.1244548 ]
""",
    "itstruve0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.itstruve0(x))
[1.01870116 2.09154545 1.83148335]
>>> print(xp.grad(lambda x: xp.sum(xp.special.itstruve0(x)))(x))
[ 0.79085885  0.13501457 -0.18455534]
""",
    "iv": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.iv(2.0, z))
[ 0.68894845  6.42218938 46.78709472]
>>> print(xp.grad(lambda z: xp.sum(xp.special.iv(2.0, z)))(z))
[ 0.90168841  6.54837047 45.74623854]
""",
    "ive": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.ive(2.0, z))
[0.09323903 0.1176265  0.11597361]
>>> print(xp.grad(lambda z: xp.sum(xp.special.ive(2.0, z)))(z))
[ 0.02879122  0.00231109 -0.00258002]
""",
    "j0": """\
>>> x = xp.asarray([1.0, 2.0, 5.0])
>>> print(xp.special.j0(x))
[ 0.76519769  0.22389078 -0.17759677]

The slope is -j1(x):

>>> print(xp.grad(lambda x: xp.sum(xp.special.j0(x)))(x))
[-0.44005059 -0.57672481  0.32757914]
""",
    "j1": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.j1(x))
[ 0.57672481 -0.06604333 -0.27668386]
>>> print(xp.grad(lambda x: xp.sum(xp.special.j1(x)))(x))
[-0.06447162 -0.38063898  0.19675923]
""",
    "jv": """\
>>> z = xp.asarray([1.0, 2.0, 5.0])
>>> print(xp.special.jv(1.5, z))
[ 0.24029784  0.49129378 -0.16965131]
>>> print(xp.grad(lambda z: xp.sum(xp.special.jv(1.5, z)))(z))
[ 0.31094995  0.1445458  -0.29127259]

By the order no closed form is known, and a gradient by it is a LookupError that says so:

>>> try:
...     xp.grad(lambda v: xp.special.jv(v, 1.0))(xp.asarray(1.5))
... except LookupError:
...     print("no gradient by v")
no gradient by v
""",
    "jve": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.jve(2.0, z))
[ 0.35283403  0.36412815 -0.24287321]
>>> print(xp.grad(lambda z: xp.sum(xp.special.jve(2.0, z)))(z))
[ 0.22389078 -0.2481074  -0.19572612]
""",
    "k0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.k0(x))
[0.11389387 0.01115968 0.00124399]
>>> print(xp.grad(lambda x: xp.sum(xp.special.k0(x)))(x))
[-0.13986588 -0.0124835  -0.00134392]
""",
    "k0e": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.k0e(x))
[0.84156822 0.60929767 0.50186313]
>>> print(xp.grad(lambda x: xp.sum(xp.special.k0e(x)))(x))
[-0.19190863 -0.07227828 -0.04031278]
""",
    "k1": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.k1(x))
[0.13986588 0.0124835  0.00134392]
>>> print(xp.grad(lambda x: xp.sum(xp.special.k1(x)))(x))
[-0.18382681 -0.01428055 -0.00146798]
""",
    "k1e": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.k1e(x))
[1.03347685 0.68157595 0.54217591]
>>> print(xp.grad(lambda x: xp.sum(xp.special.k1e(x)))(x))
[-0.32482979 -0.09811571 -0.05004987]
""",
    "kei": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.kei(x))
[-0.20240007  0.0021984   0.00721649]
>>> print(xp.grad(lambda x: xp.sum(xp.special.kei(x)))(x))
[ 0.21980791  0.02391061 -0.00522392]
""",
    "keip": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.keip(x))
[ 0.21980791  0.02391061 -0.00522392]
>>> print(xp.grad(lambda x: xp.sum(xp.special.keip(x)))(x))
[-0.15156847 -0.0421565   0.00021762]
""",
    "kelvin": """\
>>> x = xp.asarray([1.0, 2.0])
>>> be, ke, bep, kep = xp.special.kelvin(x)
>>> print(be)
[0.98438178+0.24956604j 0.75173418+0.97229163j]
>>> print(bep)
[-0.06244575+0.49739651j -0.49306712+0.91701361j]
>>> print(xp.grad(lambda x: xp.sum(xp.real(xp.special.kelvin(x)[0])))(x))
[-0.06244575 -0.49306712]
""",
    "ker": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.ker(x))
[-0.04166451 -0.03617885 -0.00065304]
>>> print(xp.grad(lambda x: xp.sum(xp.special.ker(x)))(x))
[-0.10660097  0.03147849  0.00563171]
""",
    "kerp": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.kerp(x))
[-0.10660097  0.03147849  0.00563171]
>>> print(xp.grad(lambda x: xp.sum(xp.special.kerp(x)))(x))
[ 0.25570055 -0.01006802 -0.00815511]
""",
    "kl_div": """\
>>> x2 = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.kl_div(2.0, x2))
[0.38629436 0.         0.18906978]
>>> print(xp.grad(lambda x2: xp.sum(xp.special.kl_div(2.0, x2)))(x2))
[-1.          0.          0.33333333]
""",
    "kn": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.kn(2, x))
[0.25375975 0.01740143 0.00169197]
>>> print(xp.grad(lambda x: xp.sum(xp.special.kn(2, x)))(x))
[-0.39362564 -0.02118421 -0.00190791]
""",
    "kolmogi": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.kolmogi(p))
[1.01918472 0.82757356 0.67644769]
>>> print(xp.grad(lambda p: xp.sum(xp.special.kolmogi(p)))(p))
[-0.98700483 -0.63593392 -0.61603525]
""",
    "kolmogorov": """\
>>> x = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.kolmogorov(x))
[0.96394524 0.26999967 0.02221796]
>>> print(xp.grad(lambda x: xp.sum(xp.special.kolmogorov(x)))(x))
[-0.63958285 -1.07194856 -0.13330723]
""",
    "kv": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.kv(2.0, z))
[0.25375975 0.01740143 0.00169197]
>>> print(xp.grad(lambda z: xp.sum(xp.special.kv(2.0, z)))(z))
[-0.39362564 -0.02118421 -0.00190791]
""",
    "kve": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.kve(2.0, z))
[1.87504506 0.95008564 0.68258843]
>>> print(xp.grad(lambda z: xp.sum(xp.special.kve(2.0, z)))(z))
[-1.03347685 -0.20653312 -0.08711695]
""",
    "lambertw": """\
>>> z = xp.asarray([0.0, 1.0, xp.e])
>>> w = xp.real(xp.special.lambertw(z))
>>> print(w)
[0.         0.56714329 1.        ]
>>> print(w * xp.exp(w))
[0.         1.         2.71828183]
>>> print(xp.grad(lambda z: xp.sum(xp.real(xp.special.lambertw(z))))(z))
[1.         0.36189626 0.18393972]
""",
    "log1p": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.log1p(x))
[0.69314718 1.09861229 1.38629436]
>>> print(xp.grad(lambda x: xp.sum(xp.special.log1p(x)))(x))
[0.5        0.33333333 0.25      ]
""",
    "log_expit": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.log_expit(x))
[-1.31326169 -0.69314718 -0.31326169]
>>> print(xp.grad(lambda x: xp.sum(xp.special.log_expit(x)))(x))
[0.73105858 0.5        0.26894142]
""",
    "log_ndtr": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.log_ndtr(x))
[-1.84102165 -0.69314718 -0.17275378]
>>> print(xp.grad(lambda x: xp.sum(xp.special.log_ndtr(x)))(x))
[1.52513528 0.79788456 0.28759997]
""",
    "log_softmax": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.log_softmax(x))
[-2.40760596 -1.40760596 -0.40760596]

The gradient of the cross entropy of a class is softmax(x), less 1 at that class:

>>> print(xp.grad(lambda x: -xp.special.log_softmax(x)[2])(x))
[ 0.09003057  0.24472847 -0.33475904]
""",
    "log_wright_bessel": """\
>>> x = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.log_wright_bessel(1.0, 1.0, x))
[0.82399354 1.15233916 1.44747198]
>>> print(xp.grad(lambda x: xp.sum(xp.special.log_wright_bessel(1.0, 1.0, x)))(x))
[0.69777466 0.62003829 0.56317862]
""",
    "loggamma": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.loggamma(x))
[0.         0.         0.69314718]
>>> print(xp.grad(lambda x: xp.sum(xp.special.loggamma(x)))(x))
[-0.57721566  0.42278434  0.92278434]
""",
    "logit": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.logit(x))
[-1.09861229  0.          1.09861229]

The slope is 1 / (x * (1 - x)):

>>> print(xp.grad(lambda x: xp.sum(xp.special.logit(x)))(x))
[5.33333333 4.         5.33333333]
""",
    "logsumexp": """\
>>> a = xp.asarray([1000.0, 1001.0, 1002.0])
>>> print(xp.special.logsumexp(a))
1002.4076059644444

The gradient is softmax(a):

>>> print(xp.grad(xp.special.logsumexp)(a))
[0.09003057 0.24472847 0.66524096]
>>> print(xp.special.softmax(a))
[0.09003057 0.24472847 0.66524096]
""",
    "lpmv": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.special.lpmv(1, 4, x))
[-1.35316469  0.          1.35316469]
>>> print(xp.grad(lambda x: xp.sum(xp.special.lpmv(1, 4, x)))(x))
[-5.77350269  7.5        -5.77350269]
""",
    "mathieu_a": """\
>>> q = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.mathieu_a(3, q))
[9.07836885 9.37032248 9.91550629]
""",
    "mathieu_b": """\
>>> q = xp.asarray([2.0, 3.0, 4.0])
>>> print(xp.special.mathieu_b(3, q))
[9.14062774 9.22313285 9.26144613]
""",
    "mathieu_cem": """\
>>> x = xp.asarray([15.0, 30.0, 60.0])  # in degrees
>>> y, yp = xp.special.mathieu_cem(2, 1.0, x)
>>> print(y)
[ 0.9972807   0.72937545 -0.21370917]

The second result is the slope by the angle in radians:

>>> print(yp * xp.pi / 180)
[-0.01187224 -0.02372736 -0.03360413]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_cem(2, 1.0, x)[0]))(x))
[-0.01187224 -0.02372736 -0.03360413]
""",
    "mathieu_modcem1": """\
>>> x = xp.asarray([0.5, 1.0])
>>> y, yp = xp.special.mathieu_modcem1(2, 1.0, x)
>>> print(yp)
[0.29113627 0.15007221]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_modcem1(2, 1.0, x)[0]))(x))
[0.29113627 0.15007221]
""",
    "mathieu_modcem2": """\
>>> x = xp.asarray([0.5, 1.0])
>>> y, yp = xp.special.mathieu_modcem2(2, 1.0, x)
>>> print(yp)
[1.16942444 1.21285994]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_modcem2(2, 1.0, x)[0]))(x))
[1.16942444 1.21285994]
""",
    "mathieu_modsem1": """\
>>> x = xp.asarray([0.5, 1.0])
>>> y, yp = xp.special.mathieu_modsem1(2, 1.0, x)
>>> print(yp)
[0.50220642 0.28474522]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_modsem1(2, 1.0, x)[0]))(x))
[0.50220642 0.28474522]
""",
    "mathieu_modsem2": """\
>>> x = xp.asarray([0.5, 1.0])
>>> y, yp = xp.special.mathieu_modsem2(2, 1.0, x)
>>> print(yp)
[1.01637866 1.19874365]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_modsem2(2, 1.0, x)[0]))(x))
[1.01637866 1.19874365]
""",
    "mathieu_sem": """\
>>> x = xp.asarray([15.0, 30.0, 60.0])  # in degrees
>>> y, yp = xp.special.mathieu_sem(2, 1.0, x)
>>> print(yp * xp.pi / 180)
[ 0.02724284  0.0200129  -0.01423401]
>>> print(xp.grad(lambda x: xp.sum(xp.special.mathieu_sem(2, 1.0, x)[0]))(x))
[ 0.02724284  0.0200129  -0.01423401]
""",
    "modfresnelm": """\
>>> x = xp.asarray([0.5, 1.0])
>>> fm, km = xp.special.modfresnelm(x)
>>> print(xp.real(fm))
[ 0.12977304 -0.27786717]

The slope of the first is -exp(-1j * x**2):

>>> print(xp.grad(lambda x: xp.sum(xp.real(xp.special.modfresnelm(x)[0])))(x))
[-0.96891242 -0.54030231]
>>> print(-xp.cos(x**2))
[-0.96891242 -0.54030231]
""",
    "modfresnelp": """\
>>> x = xp.asarray([0.5, 1.0])
>>> fp, kp = xp.special.modfresnelp(x)
>>> print(xp.real(fp))
[ 0.12977304 -0.27786717]

The slope of the first is -exp(1j * x**2):

>>> print(xp.grad(lambda x: xp.sum(xp.imag(xp.special.modfresnelp(x)[0])))(x))
[-0.24740396 -0.84147098]
>>> print(-xp.sin(x**2))
[-0.24740396 -0.84147098]
""",
    "modstruve": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.modstruve(2.0, x))
[ 0.41026079  5.69758493 45.60954501]
>>> print(xp.grad(lambda x: xp.sum(xp.special.modstruve(2.0, x)))(x))
[ 0.692499    6.32048534 45.52182907]
""",
    "multigammaln": """\
>>> a = xp.asarray([2.0, 3.0])
>>> print(xp.special.multigammaln(a, 2))
[0.45158271 1.55019499]
>>> print(xp.grad(lambda a: xp.sum(xp.special.multigammaln(a, 2)))(a))
[0.45927431 1.62594098]
""",
    "nbdtr": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.nbdtr(2, 8, p))
[4.15802002e-04 5.46875000e-02 5.25592804e-01]
>>> print(xp.grad(lambda p: xp.sum(xp.special.nbdtr(2, 8, p)))(p))
[0.01235962 0.703125   3.00338745]
""",
    "nbdtrc": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.nbdtrc(2, 8, p))
[0.9995842 0.9453125 0.4744072]
>>> print(xp.grad(lambda p: xp.sum(xp.special.nbdtrc(2, 8, p)))(p))
[-0.01235962 -0.703125   -3.00338745]
""",
    "nbdtri": """\
>>> q = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.nbdtri(2, 8, q))
[0.64455579 0.74142528 0.82442871]
>>> print(xp.grad(lambda q: xp.sum(xp.special.nbdtri(2, 8, q)))(q))
[0.47569765 0.33732897 0.34811181]
""",
    "nbdtrik": """\
>>> p = xp.asarray([0.3, 0.35, 0.4])
>>> print(xp.special.nbdtrik(0.6, 4.0, p))
[9.30378125 7.31012927 5.81309568]
>>> print(xp.grad(lambda p: xp.sum(xp.special.nbdtrik(0.6, 4.0, p)))(p))
[-46.49650041 -34.19655123 -26.21760516]
""",
    "nbdtrin": """\
>>> p = xp.asarray([0.4, 0.5, 0.6])
>>> print(xp.special.nbdtrin(2.0, 0.5, p))
[2.10431109 3.         4.34021357]
>>> print(xp.grad(lambda p: xp.sum(xp.special.nbdtrin(2.0, 0.5, p)))(p))
[ 7.47965294 10.73277121 16.74075486]
""",
    "ncfdtr": """\
>>> f = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.ncfdtr(4.0, 4.0, 1.5, f))
[0.37586132 0.63457842 0.76507082]
>>> print(xp.grad(lambda f: xp.sum(xp.special.ncfdtr(4.0, 4.0, 1.5, f)))(f))
[0.36042416 0.17787425 0.0941538 ]
""",
    "ncfdtri": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.ncfdtri(4.0, 4.0, 1.5, p))
[0.6832674  1.39342087 2.84705202]
>>> print(xp.grad(lambda p: xp.sum(xp.special.ncfdtri(4.0, 4.0, 1.5, p)))(p))
[2.31653839 3.65665053 9.70022596]
""",
    "ncfdtridfd": """\
>>> f = xp.asarray([1.24, 1.26, 1.28])
>>> print(xp.special.ncfdtridfd(2.5, 0.51, 0.4, f))
[2.2998206  2.19729126 2.10534735]
>>> print(xp.grad(lambda f: xp.sum(xp.special.ncfdtridfd(2.5, 0.51, 0.4, f)))(f))
[-5.42190774 -4.84728849 -4.36014956]
""",
    "ncfdtridfn": """\
>>> f = xp.asarray([0.48, 0.5, 0.52])
>>> print(xp.special.ncfdtridfn(0.16, 5.0, 1.25, f))
[4.63744411 5.43353197 6.51583361]
>>> print(xp.grad(lambda f: xp.sum(xp.special.ncfdtridfn(0.16, 5.0, 1.25, f)))(f))
[34.54716382 45.86572616 63.85495528]
""",
    "ncfdtrinc": """\
>>> f = xp.asarray([2.25, 2.5, 2.75])
>>> print(xp.special.ncfdtrinc(4.0, 4.0, 0.3, f))
[ 9.2603534  10.52749518 11.7872992 ]
>>> print(xp.grad(lambda f: xp.sum(xp.special.ncfdtrinc(4.0, 4.0, 0.3, f)))(f))
[5.08628034 5.05281671 5.02711719]
""",
    "nctdtr": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.nctdtr(4.0, -0.5, x))
[0.33923949 0.69146246 0.91385043]
>>> print(xp.grad(lambda x: xp.sum(xp.special.nctdtr(4.0, -0.5, x)))(x))
[0.30854639 0.33093634 0.11909365]
""",
    "nctdtridf": """\
>>> x = xp.asarray([1.22, 1.23, 1.24])
>>> print(xp.special.nctdtridf(0.71, 0.47, x))
[2.39182285 2.29176988 2.20086777]
>>> print(xp.grad(lambda x: xp.sum(xp.special.nctdtridf(0.71, 0.47, x)))(x))
[-10.50923353  -9.52567929  -8.67478135]
""",
    "nctdtrinc": """\
>>> x = xp.asarray([1.25, 1.5, 1.75])
>>> print(xp.special.nctdtrinc(4.0, 0.4, x))
[1.44619462 1.687743   1.92993514]
>>> print(xp.grad(lambda x: xp.sum(xp.special.nctdtrinc(4.0, 0.4, x)))(x))
[0.96477901 0.96753816 0.96995312]
""",
    "nctdtrit": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.nctdtrit(4.0, -0.5, p))
[-1.32202675 -0.53234111  0.18710112]
>>> print(xp.grad(lambda p: xp.sum(xp.special.nctdtrit(4.0, -0.5, p)))(p))
[4.0840904  2.71655437 3.40823013]
""",
    "ndtr": """\
>>> x = xp.asarray([-1.96, 0.0, 1.96])
>>> print(xp.special.ndtr(x))
[0.0249979 0.5       0.9750021]

The slope is the normal density:

>>> print(xp.grad(lambda x: xp.sum(xp.special.ndtr(x)))(x))
[0.05844094 0.39894228 0.05844094]
""",
    "ndtri": """\
>>> x = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.ndtri(x))
[-0.67448975  0.          0.67448975]
>>> print(xp.grad(lambda x: xp.sum(xp.special.ndtri(x)))(x))
[3.14686508 2.50662827 3.14686508]
""",
    "ndtri_exp": """\
>>> x = xp.asarray([-3.0, -2.0, -1.0])
>>> print(xp.special.ndtri_exp(x))
[-1.64692172 -1.10151963 -0.33747496]
>>> print(xp.grad(lambda x: xp.sum(xp.special.ndtri_exp(x)))(x))
[0.48437984 0.62226532 0.97617169]
""",
    "nrdtrimn": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.nrdtrimn(0.25, 2.0, x))
[2.3489795 3.3489795 4.3489795]
>>> print(xp.grad(lambda x: xp.sum(xp.special.nrdtrimn(0.25, 2.0, x)))(x))
[1. 1. 1.]
""",
    "nrdtrisd": """\
>>> x = xp.asarray([1.0, 1.25, 1.5])
>>> print(xp.special.nrdtrisd(-1.0, 0.75, x))
[2.96520444 3.33585499 3.70650555]
>>> print(xp.grad(lambda x: xp.sum(xp.special.nrdtrisd(-1.0, 0.75, x)))(x))
[1.48260222 1.48260222 1.48260222]
""",
    "obl_ang1": """\
>>> x = xp.asarray([0.25, 0.5])
>>> s, sp = xp.special.obl_ang1(1, 2, 0.5, x)
>>> print(s)
[0.72699704 1.30486066]

The second result is the slope by x:

>>> print(sp)
[2.72062645 1.76314493]
>>> print(xp.grad(lambda x: xp.sum(xp.special.obl_ang1(1, 2, 0.5, x)[0]))(x))
[2.72062645 1.76314493]
""",
    "obl_ang1_cv": """\
>>> x = xp.asarray([0.25, 0.5])
>>> cv = xp.special.obl_cv(1, 2, 0.5)
>>> s, sp = xp.special.obl_ang1_cv(1, 2, 0.5, cv, x)
>>> print(sp)
[2.72062645 1.76314493]
>>> print(xp.grad(lambda x: xp.sum(xp.special.obl_ang1_cv(1, 2, 0.5, cv, x)[0]))(x))
[2.72062645 1.76314493]
""",
    "obl_cv": """\
>>> c = xp.asarray([1.5, 2.0, 2.5])
>>> print(xp.special.obl_cv(1, 3, c))
[10.95830898 10.16324506  9.16830937]
""",
    "obl_rad1": """\
>>> x = xp.asarray([1.5, 2.0])
>>> s, sp = xp.special.obl_rad1(1, 2, 0.5, x)
>>> print(sp)
[0.04601517 0.05678366]
>>> print(xp.grad(lambda x: xp.sum(xp.special.obl_rad1(1, 2, 0.5, x)[0]))(x))
[0.04601517 0.05678366]
""",
    "obl_rad1_cv": """\
>>> x = xp.asarray([1.5, 2.0])
>>> cv = xp.special.obl_cv(1, 2, 0.5)
>>> s, sp = xp.special.obl_rad1_cv(1, 2, 0.5, cv, x)
>>> print(sp)
[0.04601517 0.05678366]
>>> print(xp.grad(lambda x: xp.sum(xp.special.obl_rad1_cv(1, 2, 0.5, cv, x)[0]))(x))
[0.04601517 0.05678366]
""",
    "obl_rad2": """\
>>> x = xp.asarray([2.0, 3.0])
>>> s1, sp1 = xp.special.obl_rad1(0, 1, 1.0, x)
>>> s2, sp2 = xp.special.obl_rad2(0, 1, 1.0, x)

Their Wronskian is 1 / (c * (x**2 + 1)) where SciPy's values are right. They are not everywhere,
and so derivatives of this function are refused.

>>> print((s1 * sp2 - sp1 * s2) * (x**2 + 1))
[1. 1.]
""",
    "obl_rad2_cv": """\
>>> x = xp.asarray([2.0, 3.0])
>>> cv = xp.special.obl_cv(0, 1, 1.0)
>>> s1, sp1 = xp.special.obl_rad1_cv(0, 1, 1.0, cv, x)
>>> s2, sp2 = xp.special.obl_rad2_cv(0, 1, 1.0, cv, x)

Their Wronskian is 1 / (c * (x**2 + 1)) where SciPy's values are right. They are not everywhere,
and so derivatives of this function are refused.

>>> print((s1 * sp2 - sp1 * s2) * (x**2 + 1))
[1. 1.]
""",
    "owens_t": """\
>>> a = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.owens_t(-0.5, a))
[-0.10667106  0.          0.10667106]
>>> print(xp.grad(lambda a: xp.sum(xp.special.owens_t(-0.5, a)))(a))
[0.061975   0.14045374 0.061975  ]
""",
    "pbdv": """\
>>> x = xp.asarray([0.5, 1.0])
>>> d, dp = xp.special.pbdv(1.5, x)
>>> print(d)
[-0.06212563  0.51566723]

The second result is the slope by x:

>>> print(dp)
[1.21958408 1.00547125]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pbdv(1.5, x)[0]))(x))
[1.21958408 1.00547125]
""",
    "pbvv": """\
>>> x = xp.asarray([0.5, 1.0])
>>> v, vp = xp.special.pbvv(1.5, x)
>>> print(v)
[-0.64990825 -0.54176921]

The second result is the slope by x:

>>> print(vp)
[-0.08477667  0.49091969]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pbvv(1.5, x)[0]))(x))
[-0.08477667  0.49091969]
""",
    "pbwa": """\
>>> x = xp.asarray([0.5, 1.0])
>>> w, wp = xp.special.pbwa(0.5, x)
>>> print(w)
[0.64064133 0.47413986]

The second result is the slope by x:

>>> print(wp)
[-0.38938842 -0.29012439]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pbwa(0.5, x)[0]))(x))
[-0.38938842 -0.29012439]
""",
    "pdtr": """\
>>> m = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.pdtr(2, m))
[0.9196986  0.67667642 0.42319008]
>>> print(xp.grad(lambda m: xp.sum(xp.special.pdtr(2, m)))(m))
[-0.18393972 -0.27067057 -0.22404181]
""",
    "pdtrc": """\
>>> m = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.pdtrc(2, m))
[0.0803014  0.32332358 0.57680992]
>>> print(xp.grad(lambda m: xp.sum(xp.special.pdtrc(2, m)))(m))
[0.18393972 0.27067057 0.22404181]
""",
    "pdtri": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.pdtri(2, p))
[3.92040206 2.67406031 1.72729942]
>>> print(xp.grad(lambda p: xp.sum(xp.special.pdtri(2, p)))(p))
[-6.56111666 -4.0552463  -3.77095498]
""",
    "pdtrik": """\
>>> m = xp.asarray([3.0, 4.0, 5.0])
>>> print(xp.special.pdtrik(0.5, m))
[2.32673701 3.32838046 4.32937027]
>>> print(xp.grad(lambda m: xp.sum(xp.special.pdtrik(0.5, m)))(m))
[1.00218446 1.00123586 1.0007926 ]
""",
    "perm": """\
>>> print(xp.special.perm(5, xp.asarray([0, 1, 2])))
[ 1.  5. 20.]

As a function of real numbers it is differentiable; n * (n - 1) has the slope 2 n - 1:

>>> n = xp.asarray([5.0, 6.5])
>>> print(xp.grad(lambda n: xp.sum(xp.special.perm(n, 2.0)))(n))
[ 9. 12.]
""",
    "poch": """\
>>> m = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.poch(2.0, m))
[ 2.  6. 24.]
>>> print(xp.grad(lambda m: xp.sum(xp.special.poch(2.0, m)))(m))
[ 1.84556867  7.53670601 36.14682404]
""",
    "polygamma": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.polygamma(2, x))
[-2.40411381 -0.40411381 -0.15411381]
>>> print(xp.grad(lambda x: xp.sum(xp.special.polygamma(2, x)))(x))
[6.4939394 0.4939394 0.1189394]
""",
    "powm1": """\
>>> x2 = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.powm1(2.0, x2))
[-0.5  0.   1. ]
>>> print(xp.grad(lambda x2: xp.sum(xp.special.powm1(2.0, x2)))(x2))
[0.34657359 0.69314718 1.38629436]
""",
    "pro_ang1": """\
>>> x = xp.asarray([0.25, 0.5])
>>> s, sp = xp.special.pro_ang1(1, 2, 0.5, x)
>>> print(s)
[0.72537609 1.29326199]

The second result is the slope by x:

>>> print(sp)
[2.70160724 1.70128489]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_ang1(1, 2, 0.5, x)[0]))(x))
[2.70160724 1.70128489]
""",
    "pro_ang1_cv": """\
>>> x = xp.asarray([0.25, 0.5])
>>> cv = xp.special.pro_cv(1, 2, 0.5)
>>> s, sp = xp.special.pro_ang1_cv(1, 2, 0.5, cv, x)
>>> print(sp)
[2.70160724 1.70128489]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_ang1_cv(1, 2, 0.5, cv, x)[0]))(x))
[2.70160724 1.70128489]
""",
    "pro_cv": """\
>>> c = xp.asarray([1.5, 2.0, 2.5])
>>> print(xp.special.pro_cv(1, 3, c))
[13.05561781 13.88149342 14.94443077]
""",
    "pro_rad1": """\
>>> x = xp.asarray([1.5, 2.0])
>>> s, sp = xp.special.pro_rad1(1, 2, 0.5, x)
>>> print(sp)
[0.04916753 0.05940067]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_rad1(1, 2, 0.5, x)[0]))(x))
[0.04916753 0.05940067]
""",
    "pro_rad1_cv": """\
>>> x = xp.asarray([1.5, 2.0])
>>> cv = xp.special.pro_cv(1, 2, 0.5)
>>> s, sp = xp.special.pro_rad1_cv(1, 2, 0.5, cv, x)
>>> print(sp)
[0.04916753 0.05940067]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_rad1_cv(1, 2, 0.5, cv, x)[0]))(x))
[0.04916753 0.05940067]
""",
    "pro_rad2": """\
>>> x = xp.asarray([1.5, 2.0])
>>> s, sp = xp.special.pro_rad2(1, 2, 0.5, x)
>>> print(sp)
[35.77020091  7.39025568]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_rad2(1, 2, 0.5, x)[0]))(x))
[35.77020091  7.39025568]
""",
    "pro_rad2_cv": """\
>>> x = xp.asarray([1.5, 2.0])
>>> cv = xp.special.pro_cv(1, 2, 0.5)
>>> s, sp = xp.special.pro_rad2_cv(1, 2, 0.5, cv, x)
>>> print(sp)
[35.77020091  7.39025568]
>>> print(xp.grad(lambda x: xp.sum(xp.special.pro_rad2_cv(1, 2, 0.5, cv, x)[0]))(x))
[35.77020091  7.39025568]
""",
    "pseudo_huber": """\
>>> r = xp.asarray([-2.0, 0.0, 2.0])
>>> print(xp.special.pseudo_huber(2.0, r))
[1.65685425 0.         1.65685425]
>>> print(xp.grad(lambda r: xp.sum(xp.special.pseudo_huber(2.0, r)))(r))
[-1.41421356  0.          1.41421356]
""",
    "radian": """\
>>> s = xp.asarray([20.0, 30.0, 40.0])
>>> print(xp.special.radian(36.0, 24.0, s))
[0.63539681 0.63544529 0.63549377]
>>> print(xp.grad(lambda s: xp.sum(xp.special.radian(36.0, 24.0, s)))(s))
[4.84813681e-06 4.84813681e-06 4.84813681e-06]
""",
    "rel_entr": """\
>>> x2 = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.rel_entr(2.0, x2))
[ 1.38629436  0.         -0.81093022]
>>> print(xp.grad(lambda x2: xp.sum(xp.special.rel_entr(2.0, x2)))(x2))
[-2.         -1.         -0.66666667]
""",
    "rgamma": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.rgamma(x))
[1.  1.  0.5]
>>> print(xp.grad(lambda x: xp.sum(xp.special.rgamma(x)))(x))
[ 0.57721566 -0.42278434 -0.46139217]
""",
    "round": """\
>>> print(xp.special.round(xp.asarray([0.5, 1.5, -1.2])))
[ 0.  2. -1.]
""",
    "shichi": """\
>>> x = xp.asarray([1.0, 2.0])
>>> shi, chi = xp.special.shichi(x)
>>> print(shi)
[1.05725088 2.50156743]

The slope of the first is sinh(x) / x:

>>> print(xp.grad(lambda x: xp.sum(xp.special.shichi(x)[0]))(x))
[1.17520119 1.8134302 ]
""",
    "sici": """\
>>> x = xp.asarray([1.0, 2.0])
>>> si, ci = xp.special.sici(x)
>>> print(si)
[0.94608307 1.60541298]

The slope of the first is sin(x) / x:

>>> print(xp.grad(lambda x: xp.sum(xp.special.sici(x)[0]))(x))
[0.84147098 0.45464871]
""",
    "sinc": """\
>>> x = xp.asarray([0.0, 0.25, 0.5])
>>> print(xp.special.sinc(x))
[1.         0.90031632 0.63661977]

At 0, where the formula is 0 / 0, derivatives are those of the series:

>>> print(xp.grad(lambda x: xp.sum(xp.special.sinc(x)))(x))
[-0.         -0.77283814 -1.27323954]
>>> print(xp.grad(xp.grad(xp.special.sinc))(xp.asarray(0.0)))
-3.2898681336964524
""",
    "sindg": """\
>>> x = xp.asarray([-10.0, 0.0, 10.0])
>>> print(xp.special.sindg(x))
[-0.17364818  0.          0.17364818]
>>> print(xp.grad(lambda x: xp.sum(xp.special.sindg(x)))(x))
[0.01718814 0.01745329 0.01718814]
""",
    "smirnov": """\
>>> d = xp.asarray([0.3, 0.4, 0.5])
>>> print(xp.special.smirnov(5, d))
[0.34282 0.15456 0.056  ]
>>> print(xp.grad(lambda d: xp.sum(xp.special.smirnov(5, d)))(d))
[-2.286 -1.32  -0.663]
""",
    "smirnovi": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.smirnovi(5, p))
[0.34319485 0.23455954 0.14529941]
>>> print(xp.grad(lambda p: xp.sum(xp.special.smirnovi(5, p)))(p))
[-0.5037863  -0.40513819 -0.38554675]
""",
    "softmax": """\
>>> x = xp.asarray([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
>>> print(xp.special.softmax(x, axis=1))
[[0.09003057 0.24472847 0.66524096]
 [0.33333333 0.33333333 0.33333333]]

The slopes of one probability by the three numbers add up to 0:

>>> print(xp.grad(lambda x: xp.special.softmax(x)[2])(x[0]))
[-0.05989202 -0.1628034   0.22269543]
""",
    "softplus": """\
>>> x = xp.asarray([-2.0, 0.0, 2.0])
>>> print(xp.special.softplus(x))
[0.12692801 0.69314718 2.12692801]

The slope is the logistic function:

>>> print(xp.grad(lambda x: xp.sum(xp.special.softplus(x)))(x))
[0.11920292 0.5        0.88079708]
""",
    "spence": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.spence(x))
[ 0.         -0.82246703 -1.43674637]
>>> print(xp.grad(lambda x: xp.sum(xp.special.spence(x)))(x))
[-1.         -0.69314718 -0.54930614]
""",
    "sph_harm_y": """\
>>> theta = xp.asarray([0.5, 1.0])
>>> print(xp.special.sph_harm_y(2, 1, theta, 0.25))
[-0.31493387-0.08041582j -0.34031899-0.08689771j]
>>> def density(theta):
...     return xp.abs(xp.special.sph_harm_y(2, 1, theta, 0.25)) ** 2
>>> print(xp.grad(lambda theta: xp.sum(density(theta)))(theta))
[ 0.27134846 -0.22584161]
""",
    "spherical_in": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.spherical_in(1, z))
[0.36787944 0.97438274]
>>> print(xp.special.spherical_in(1, z, derivative=True))
[0.43944231 0.83904746]
>>> print(xp.grad(lambda z: xp.sum(xp.special.spherical_in(1, z)))(z))
[0.43944231 0.83904746]
""",
    "spherical_jn": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.spherical_jn(1, z))
[0.30116868 0.43539777]
>>> print(xp.special.spherical_jn(1, z, derivative=True))
[0.23913363 0.01925094]
>>> print(xp.grad(lambda z: xp.sum(xp.special.spherical_jn(1, z)))(z))
[0.23913363 0.01925094]
""",
    "spherical_kn": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.spherical_kn(1, z))
[1.15572735 0.15943812]
>>> print(xp.special.spherical_kn(1, z, derivative=True))
[-2.88931837 -0.26573021]
>>> print(xp.grad(lambda z: xp.sum(xp.special.spherical_kn(1, z)))(z))
[-2.88931837 -0.26573021]
""",
    "spherical_yn": """\
>>> z = xp.asarray([1.0, 2.0])
>>> print(xp.special.spherical_yn(1, z))
[-1.38177329 -0.350612  ]
>>> print(xp.special.spherical_yn(1, z, derivative=True))
[2.22324428 0.55868542]
>>> print(xp.grad(lambda z: xp.sum(xp.special.spherical_yn(1, z)))(z))
[2.22324428 0.55868542]
""",
    "stdtr": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.stdtr(3.0, x))
[0.19550111 0.5        0.80449889]
>>> print(xp.grad(lambda x: xp.sum(xp.special.stdtr(3.0, x)))(x))
[0.20674834 0.3675526  0.20674834]
""",
    "stdtridf": """\
>>> x = xp.asarray([1.15, 1.2, 1.25])
>>> print(xp.special.stdtridf(0.82, x))
[2.19454674 1.87301003 1.64638942]
>>> print(xp.grad(lambda x: xp.sum(xp.special.stdtridf(0.82, x)))(x))
[-7.78227306 -5.31565153 -3.86561881]
""",
    "stdtrit": """\
>>> p = xp.asarray([0.25, 0.5, 0.75])
>>> print(xp.special.stdtrit(3.0, p))
[-0.76489233  0.          0.76489233]
>>> print(xp.grad(lambda p: xp.sum(xp.special.stdtrit(3.0, p)))(p))
[3.8853569  2.72069905 3.8853569 ]
""",
    "struve": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.struve(2.0, x))
[0.28031806 1.24867512 1.61718664]
>>> print(xp.grad(lambda x: xp.sum(xp.special.struve(2.0, x)))(x))
[ 0.36644567  0.4453891  -0.06088696]
""",
    "tandg": """\
>>> x = xp.asarray([-10.0, 0.0, 10.0])
>>> print(xp.special.tandg(x))
[-0.17632698  0.          0.17632698]
>>> print(xp.grad(lambda x: xp.sum(xp.special.tandg(x)))(x))
[0.01799594 0.01745329 0.01799594]
""",
    "tklmbda": """\
>>> lmbda = xp.asarray([0.0, 0.25, 0.5])
>>> print(xp.special.tklmbda(-0.25, lmbda))
[0.4378235  0.42603271 0.4119576 ]
>>> print(xp.grad(lambda lmbda: xp.sum(xp.special.tklmbda(-0.25, lmbda)))(lmbda))
[-0.04313127 -0.05145015 -0.06146072]
""",
    "voigt_profile": """\
>>> gamma = xp.asarray([0.5, 1.0, 1.5])
>>> print(xp.special.voigt_profile(-0.5, 1.0, gamma))
[0.25636409 0.19676986 0.15737091]
>>> print(xp.grad(lambda gamma: xp.sum(xp.special.voigt_profile(-0.5, 1.0, gamma)))(gamma))
[-0.14805294 -0.09535231 -0.06485472]
""",
    "wofz": """\
>>> z = xp.asarray([0.0, 1.0, 2.0])
>>> print(xp.real(xp.special.wofz(z)))  # exp(-z**2) on the real axis
[1.         0.36787944 0.01831564]
>>> print(xp.grad(lambda z: xp.sum(xp.real(xp.special.wofz(z))))(z))
[ 0.         -0.73575888 -0.07326256]
""",
    "wright_bessel": """\
>>> x = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.special.wright_bessel(1.0, 1.0, x))
[2.2795853  3.16558907 4.25235088]
>>> print(xp.grad(lambda x: xp.sum(xp.special.wright_bessel(1.0, 1.0, x)))(x))
[1.59063685 1.96278643 2.3948331 ]
""",
    "wrightomega": """\
>>> z = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.special.wrightomega(z))
[0.27846454 0.56714329 1.        ]
>>> print(xp.grad(lambda z: xp.sum(xp.special.wrightomega(z)))(z))
[0.21781171 0.36189626 0.5       ]
""",
    "xlog1py": """\
>>> x2 = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.special.xlog1py(2.0, x2))
[1.38629436 2.19722458 2.77258872]
>>> print(xp.grad(lambda x2: xp.sum(xp.special.xlog1py(2.0, x2)))(x2))
[1.         0.66666667 0.5       ]
""",
    "xlogy": """\
>>> x = xp.asarray([0.0, 0.5, 1.0])
>>> print(xp.special.xlogy(x, x))  # 0 where x is 0
[ 0.         -0.34657359  0.        ]

An entropy, whose slope at 0 is infinite:

>>> print(xp.grad(lambda x: xp.sum(xp.special.xlogy(x, x)))(x))
[      -inf 0.30685282 1.        ]
""",
    "y0": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.y0(x))
[ 0.51037567 -0.01694074 -0.28819468]
>>> print(xp.grad(lambda x: xp.sum(xp.special.y0(x)))(x))
[ 0.10703243 -0.39792571  0.17501034]
""",
    "y1": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.y1(x))
[-0.10703243  0.39792571 -0.17501034]
>>> print(xp.grad(lambda x: xp.sum(xp.special.y1(x)))(x))
[ 0.56389189 -0.11642217 -0.25902629]
""",
    "yn": """\
>>> x = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.yn(2, x))
[-0.6174081   0.21590359  0.2298579 ]
>>> print(xp.grad(lambda x: xp.sum(xp.special.yn(2, x)))(x))
[ 0.51037567  0.28997391 -0.25162965]
""",
    "yv": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.yv(2.0, z))
[-0.6174081   0.21590359  0.2298579 ]
>>> print(xp.grad(lambda z: xp.sum(xp.special.yv(2.0, z)))(z))
[ 0.51037567  0.28997391 -0.25162965]
""",
    "yve": """\
>>> z = xp.asarray([2.0, 4.0, 6.0])
>>> print(xp.special.yve(2.0, z))
[-0.6174081   0.21590359  0.2298579 ]
>>> print(xp.grad(lambda z: xp.sum(xp.special.yve(2.0, z)))(z))
[ 0.51037567  0.28997391 -0.25162965]
""",
    "zeta": """\
>>> x = xp.asarray([2.0, 4.0])
>>> print(xp.special.zeta(x))
[1.64493407 1.08232323]
>>> print(xp.grad(lambda x: xp.sum(xp.special.zeta(x)))(x))
[-0.93754825 -0.06891127]
""",
    "zetac": """\
>>> x = xp.asarray([3.0, 4.0, 5.0])
>>> print(xp.special.zetac(x))
[0.2020569  0.08232323 0.03692776]
>>> print(xp.grad(lambda x: xp.sum(xp.special.zetac(x)))(x))
[-0.19812624 -0.06891127 -0.02857378]
""",
}
